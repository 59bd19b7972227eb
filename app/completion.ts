import type { CommandUnknownOpts } from '@commander-js/extra-typings'

export const shells = ['bash', 'zsh'] as const
export type Shell = (typeof shells)[number]

/** A script for the completion of the word `platform`. zsh runs the one of bash. */
export function completionOf(program: CommandUnknownOpts, shell: Shell): string {
  const commands: string[] = []
  const words: string[] = []
  const values: string[] = []
  const visit = (command: CommandUnknownOpts, path: string): void => {
    const options = command.options.flatMap(({ long }) => long ?? [])
    const own = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? [])
    const subcommands = command.commands.map((one) => one.name())
    words.push(`    '${path}') words='${[...subcommands, ...own, ...options, '--help'].join(' ')}' ;;`)
    for (const { long, argChoices } of command.options)
      if (argChoices !== undefined) values.push(`    '${path} ${long}') words='${argChoices.join(' ')}' ;;`)
    for (const one of command.commands) {
      commands.push(`'${path} ${one.name()}'`)
      visit(one, `${path} ${one.name()}`)
    }
  }
  visit(program, '')
  return [
    ...(shell === 'zsh' ? ['autoload -U +X compinit bashcompinit && compinit && bashcompinit'] : []),
    '_platform() {',
    "  local at='' word words=''",
    '  for word in "${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do',
    '    case "$at $word" in',
    `      ${commands.join('|')}) at="$at $word" ;;`,
    '    esac',
    '  done',
    '  case "$at" in',
    ...words,
    '  esac',
    '  case "$at ${COMP_WORDS[$((COMP_CWORD - 1))]}" in',
    ...values,
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))',
    '}',
    'complete -o default -F _platform platform',
  ].join('\n')
}
