/** A word of the program with the words that may follow it. */
export type Words = Readonly<Record<string, readonly string[]>>;

/** Returns what bash needs to complete the commands of the program. Everything else it completes as files. */
export function completionScript(words: Words): string {
  const inner = Object.entries(words).filter(([, next]) => next.length > 0);
  return [
    "_conclave() {",
    '  local choices=""',
    "  if [ $COMP_CWORD -eq 1 ]; then",
    `    choices="${Object.keys(words).join(" ")}"`,
    "  elif [ $COMP_CWORD -eq 2 ]; then",
    '    case "${COMP_WORDS[1]}" in',
    ...inner.map(([word, next]) => `      ${word}) choices="${next.join(" ")}" ;;`),
    "    esac",
    "  fi",
    '  COMPREPLY=($(compgen -W "$choices" -- "${COMP_WORDS[COMP_CWORD]}"))',
    "}",
    "complete -o default -F _conclave conclave",
    "",
  ].join("\n");
}
