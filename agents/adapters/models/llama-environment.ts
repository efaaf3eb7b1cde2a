/**
 * Variables that native code needs to find libraries and devices, and Node its compiled code; it gets no others, above all
 * no password.
 */
const PASSED_ON =
  /^(PATH|HOME|TMPDIR|LANG|LC_.*|NODE_COMPILE_CACHE|SystemRoot|LD_.*|DYLD_.*|CUDA_.*|NVIDIA_.*|VK_.*|HIP_.*|ROCM_.*|ROCR_.*|GGML_.*)$/u;

/** Returns the environment of a process that loads the engine. */
export function engineEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => PASSED_ON.test(name)));
}
