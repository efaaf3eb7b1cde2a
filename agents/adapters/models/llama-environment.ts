/** Native code needs these to find libraries and devices; it gets nothing else, above all no password. */
const PASSED_ON =
  /^(PATH|HOME|TMPDIR|LANG|LC_.*|SystemRoot|LD_.*|DYLD_.*|CUDA_.*|NVIDIA_.*|VK_.*|HIP_.*|ROCM_.*|ROCR_.*|GGML_.*)$/u;

/** For a process that loads the engine. */
export function engineEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => PASSED_ON.test(name)));
}
