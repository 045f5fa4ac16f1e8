import type { Command } from 'commander'
import { VERSION } from '../../config/version.ts'
import type { NodeCommands, Terminal } from '../ports.ts'

export function addVersion(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const text = `coind ${VERSION} (${terminal.platform})`
  program.version(text, '-V, --version', 'print the version')
  program
    .command('version')
    .description('Print the version')
    .action(() => terminal.print(`${text}\n`))
}
