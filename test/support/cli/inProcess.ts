import type { NodeCommands, Terminal } from '../../../src/cli/ports.ts'
import { runCommand } from '../../../src/cli/program.ts'
import { ConfigError } from '../../../src/config/configError.ts'

export interface Ran {
  readonly code: number
  readonly printed: string
  readonly errors: readonly string[]
}

/** Runs a command line as a person in `directory` would. @param node for commands that need one */
export async function runInProcess(
  directory: string,
  args: readonly string[],
  terminal: Partial<Terminal> = {},
  node: NodeCommands = {} as NodeCommands,
): Promise<Ran> {
  let printed = ''
  const errors: string[] = []
  const print = (text: string): void => {
    printed += text
  }
  const whole: Terminal = {
    environment: {},
    workingDirectory: directory,
    homeDirectory: directory,
    processId: process.pid,
    platform: 'linux-x64',
    print,
    announce: print,
    readSecret: async (question) => {
      throw new ConfigError(question)
    },
    openLedger: async () => {
      throw new ConfigError('no Ledger is connected by USB')
    },
    now: () => 0,
    onStopSignal: () => undefined,
    exitNow: () => {
      throw new Error('exit')
    },
    ...terminal,
  }
  const code = await runCommand(args, node, whole, (line) => errors.push(line))
  return { code, printed, errors }
}
