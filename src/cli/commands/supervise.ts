import { resolve } from 'node:path'
import type { Command } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { readSettings } from '../../config/settings.ts'
import { VARIABLES } from '../../config/variables.ts'
import { addConfigFlags, configSources } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { abortOnStop } from '../stopSignal.ts'

/** Variables that the supervisor needs itself. All others are for the node, whose later versions may have other ones. */
const TABLE = { homedir: VARIABLES.homedir, logLevel: VARIABLES.logLevel, logFormat: VARIABLES.logFormat }

interface SuperviseFlags {
  readonly sha256: readonly string[]
}

/** Adds `coind supervise`: runs the node, and switches to other versions at the heights of upgrades. */
export function addSupervise(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('supervise')
    .description('Run the node, restart it after failures, and switch to HOMEDIR/versions/<name> at upgrades')
    .argument('[flags...]', 'flags of coind start, after --')
    .option(
      '--sha256 <name=hex>',
      'required checksum of HOMEDIR/versions/<name>.tar.gz, in addition to that of the plan',
      collect,
      [],
    )
  addConfigFlags(command, Object.values(TABLE)).action(async (flags: readonly string[], { sha256 }: SuperviseFlags) => {
    const misplaced = flags.find((flag) => /^--homedir(?:=|$)/.test(flag))
    if (misplaced !== undefined)
      throw new ConfigError(`put ${misplaced} before --: coind supervise needs it too, to find the versions`)
    const { homedir, logLevel, logFormat } = readSettings(TABLE, configSources(command, terminal, Object.values(TABLE)))
    await node.supervise({
      homedir: resolve(homedir.replace(/^~(?=$|\/)/, () => terminal.homeDirectory)),
      log: { level: logLevel, format: logFormat },
      flags,
      environment: { ...terminal.environment, LOG_LEVEL: logLevel, LOG_FORMAT: logFormat },
      sha256,
      signal: abortOnStop(terminal),
    })
  })
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}
