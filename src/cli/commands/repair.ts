import type { Command } from 'commander'
import type { TakenOver } from '../../datadir/repair/takeOverBlocks.ts'
import { addConfigFlags, configOf } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { unlessStopped } from '../stopSignal.ts'
import { rangeText } from './blocks.ts'

interface RepairFlags {
  readonly from: readonly string[]
  readonly dryRun?: boolean
  readonly snapshot?: boolean
}

/** A dry run has found damage, which has been printed before this is thrown. */
class DamageFound extends Error {
  override readonly name = 'DamageFound'
}

/** Adds `coind repair`: finds the damage in the database of a stopped node, and repairs it. */
export function addRepair(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('repair')
    .description(
      'Find and report all damage in the database of a stopped node, and repair it or rebuild the database from its blocks',
    )
    .option('--dry-run', 'change nothing')
    .option(
      '--snapshot',
      'replace a damaged database with a snapshot (from SNAPSHOT_MANIFEST_URL or peers), which may be faster',
    )
    .option(
      '--from <place>',
      'directory (of another node, a backup or an export) or URL with undamaged files of old blocks; may be given several times',
      (place: string, before: readonly string[]) => [...before, place],
      [],
    )
  addConfigFlags(command).action(async ({ from, dryRun = false, snapshot = false }: RepairFlags) => {
    const config = configOf(command, terminal)
    let damages = 0
    const onPlan = (found: readonly string[], steps: readonly string[]): void => {
      damages = found.length
      terminal.print(`Damage:\n${listed(found)}`)
      if (steps.length > 0) terminal.print(`To repair it:\n${listed(steps)}`)
    }
    const { isDamaged, indexes, rebuiltTo, takenOver } = await unlessStopped(terminal, (signal) =>
      node.repairDatabase(config, {
        from: from.map((place) => rangeText(place, terminal)),
        isDryRun: dryRun,
        prefersSnapshot: snapshot,
        onPlan,
        signal,
      }),
    )
    if (!isDamaged) {
      terminal.print('No damage was found\n')
      return
    }
    if (dryRun)
      throw new DamageFound(`found ${damages} kinds of damage and changed nothing: run coind repair to repair it`)
    for (const [column, { missing, changed, extra }] of Object.entries(indexes)) {
      terminal.print(`${column}: ${missing} missing, ${changed} changed, ${extra} without a block\n`)
    }
    if (takenOver !== undefined) terminal.print(described(takenOver))
    terminal.print(
      rebuiltTo === undefined
        ? 'The database is repaired and verified: start the node\n'
        : `The database is rebuilt up to block ${rebuiltTo}: start the node, and delete db.damaged when it has caught up\n`,
    )
  })
}

function described({ lowest, files, left }: TakenOver): string {
  const taken = `Headers and commits start at block ${lowest}; ${files} files of old blocks were copied\n`
  if (left === undefined) return taken
  const { files: count, last } = left
  const reason =
    last + 1 < lowest
      ? `some of the blocks ${last + 1} to ${lowest - 1} are missing`
      : 'the highest is damaged, or its validators are no longer known'
  return `${taken}${count} files with blocks up to ${last} stay in db.damaged/segments: ${reason}\n`
}

function listed(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}\n`).join('')
}
