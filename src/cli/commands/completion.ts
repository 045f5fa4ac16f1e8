import { Argument, type Command } from 'commander'
import type { Terminal } from '../ports.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

/**
 * Adds `coind completion`: a script by which a shell completes commands and options. The scripts hold all of them, so that no process is started at
 * each press of the key.
 * @param whole the program with all its commands
 */
export function addCompletion(program: Command, whole: () => Promise<Command>, terminal: Terminal): void {
  program
    .command('completion')
    .description('Print a completion script for a shell; bash: source <(coind completion bash)')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action(async (shell: (typeof SHELLS)[number]) => {
      terminal.print(SCRIPTS[shell](nodesOf(await whole())))
    })
}

/** A command, and what may follow it. */
interface Node {
  /** e.g. `tx bank send`; empty for the program */
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly (Word & { readonly takesValue: boolean; readonly choices: readonly string[] })[]
}

interface Word {
  readonly name: string
  readonly description: string
}

function nodesOf(command: Command, path = ''): readonly Node[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command).filter((child) => child.name() !== 'help')
  const node: Node = {
    path,
    commands: commands.flatMap((child) =>
      [child.name(), ...child.aliases()].map((name) => ({ name, description: oneLine(child.description()) })),
    ),
    options: help.visibleOptions(command).flatMap((option) =>
      option.long == null
        ? []
        : [
            {
              name: option.long,
              description: oneLine(option.description),
              takesValue: option.required || option.optional,
              choices: option.argChoices ?? [],
            },
          ],
    ),
  }
  const inner = commands.flatMap((child) =>
    [child.name(), ...child.aliases()].flatMap((name) => nodesOf(child, `${path} ${name}`.trim())),
  )
  return [node, ...inner]
}

/** Makes a text fit into one line, within the quotes of any shell. */
function oneLine(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replaceAll("'", '’')
    .replace(/[\\`$"]/g, '')
}

/** Where the command line is, in bash and zsh: the longest known path of commands before the word that is completed. */
const walk = (nodes: readonly Node[], words: string) => `  local at='' word
  for word in ${words}; do
    case "$at $word" in
      ${nodes
        .filter(({ path }) => path !== '')
        .map(({ path }) => `' ${path}'`)
        .join('|')}) at="$at $word" ;;
    esac
  done`

/** Returns the lines of a `case` in which nodes with the same words are one. */
function cases(nodes: readonly Node[], linesOf: (node: Node) => string): string {
  const byLines = new Map<string, string[]>()
  for (const node of nodes) {
    const lines = linesOf(node)
    const pattern = node.path === '' ? "''" : `' ${node.path}'`
    byLines.set(lines, [...(byLines.get(lines) ?? []), pattern])
  }
  return [...byLines].map(([lines, patterns]) => `    ${patterns.join('|')}) ${lines} ;;`).join('\n')
}

function bash(nodes: readonly Node[]): string {
  const names = (words: readonly Word[]): string => `'${words.map(({ name }) => name).join(' ')}'`
  return `# Completion of coind for bash: source <(coind completion bash)
_coind() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" commands='' options=''
${walk(nodes, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  case "$at" in
${cases(nodes, ({ commands, options }) => `commands=${names(commands)} options=${names(options)}`)}
  esac
  [[ "$cur" == -* ]] && commands="$options"
  COMPREPLY=($(compgen -W "$commands" -- "$cur"))
}
complete -o default -F _coind coind
`
}

function zsh(nodes: readonly Node[]): string {
  const list = (words: readonly Word[]): string =>
    words.map(({ name, description }) => `'${name}:${description.replaceAll(':', '\\:')}'`).join(' ')
  return `#compdef coind
# Completion of coind for zsh: coind completion zsh > a file _coind in a directory of $fpath
_coind() {
  local -a commands options
${walk(nodes, `"\${(@)words[2,CURRENT-1]}"`)}
  case "$at" in
${cases(nodes, ({ commands, options }) => `commands=(${list(commands)}); options=(${list(options)})`)}
  esac
  if [[ "$PREFIX" == -* ]]; then _describe option options
  elif (( $#commands )); then _describe command commands
  else _files
  fi
}
if [[ "\${funcstack[1]}" == _coind ]]; then _coind "$@"; else compdef _coind coind; fi
`
}

function fish(nodes: readonly Node[]): string {
  // The same option of several commands is one line.
  const places = new Map<string, string[]>()
  const add = (completion: string, path: string): void => {
    places.set(completion, [...(places.get(completion) ?? []), `"${path}"`])
  }
  for (const { path, commands, options } of nodes) {
    for (const { name, description } of commands) add(`-f -a '${name}' -d '${description}'`, path)
    for (const { name, description, takesValue, choices } of options) {
      const value = choices.length > 0 ? ` -x -a '${choices.join(' ')}'` : takesValue ? ' -r' : ''
      add(`-l ${name.slice(2)}${value} -d '${description}'`, path)
    }
  }
  const lines = [...places].map(([completion, paths]) => {
    return `complete -c coind -n '__coind_at ${paths.join(' ')}' ${completion}`
  })
  const paths = nodes.flatMap(({ path }) => (path === '' ? [] : [`'${path}'`]))
  return `# Completion of coind for fish: coind completion fish | source
set -g __coind_paths ${paths.join(' ')}
function __coind_at
    set -l at
    for word in (commandline -opc)[2..]
        if contains -- (string trim -- "$at $word") $__coind_paths
            set at (string trim -- "$at $word")
        end
    end
    contains -- "$at" $argv
end
${lines.join('\n')}
`
}

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (nodes: readonly Node[]) => string>> = { bash, zsh, fish }
