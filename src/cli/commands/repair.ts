import type { Command } from 'commander'
import type { TakenOver } from '../../app/repair/takeOverBlocks.ts'
import { addConfigFlags, configOf } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { unlessStopped } from '../stopSignal.ts'
import { placeOf } from './blocks.ts'

interface RepairFlags {
  readonly from: readonly string[]
  readonly dryRun?: boolean
  readonly snapshot?: boolean
}

/** A dry run has found damage, which has been printed before this is thrown. */
class DamageFound extends Error {
  override readonly name = 'DamageFound'
}

/** Finds what is damaged in the database of a stopped node, and mends it. */
export function addRepair(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('repair')
    .description(
      'Find all damage in the database of a stopped node, say what it is, and mend it, or make the database anew from its blocks',
    )
    .option('--dry-run', 'change nothing')
    .option(
      '--snapshot',
      'replace a damaged database by a snapshot (SNAPSHOT_MANIFEST_URL, or of the peers), which may be faster',
    )
    .option(
      '--from <place>',
      'directory (of another node, of a backup, of files) or URL that may have whole files of old blocks; may be given several times',
      (place: string, before: readonly string[]) => [...before, place],
      [],
    )
  addConfigFlags(command).action(async ({ from, dryRun = false, snapshot = false }: RepairFlags) => {
    const config = configOf(command, terminal)
    let damages = 0
    const onPlan = (found: readonly string[], steps: readonly string[]): void => {
      damages = found.length
      terminal.print(`Damage:\n${listed(found)}`)
      if (steps.length > 0) terminal.print(`To mend it:\n${listed(steps)}`)
    }
    const { isDamaged, indexes, rebuiltTo, takenOver } = await unlessStopped(terminal, (signal) =>
      node.repairDatabase(config, {
        from: from.map((place) => placeOf(place, terminal)),
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
      throw new DamageFound(`damage was found (${damages} kinds), and nothing was changed: mend it with coind repair`)
    for (const [column, { missing, changed, extra }] of Object.entries(indexes)) {
      terminal.print(`${column}: ${missing} missing, ${changed} changed, ${extra} of no block\n`)
    }
    if (takenOver !== undefined) terminal.print(described(takenOver))
    terminal.print(
      rebuiltTo === undefined
        ? 'The database is mended and proved: start the node\n'
        : `The database is made anew up to block ${rebuiltTo}: start the node, and delete db.damaged when it has caught up\n`,
    )
  })
}

function described({ lowest, files, left }: TakenOver): string {
  const taken = `Headers and commits are there from block ${lowest} on, ${files} files of old blocks were taken over\n`
  if (left === undefined) return taken
  const { files: count, last } = left
  const reason =
    last + 1 < lowest
      ? `not all of the blocks ${last + 1} to ${lowest - 1} are there`
      : 'the highest is damaged, or its validators are not known any more'
  return `${taken}${count} files with blocks up to ${last} stay in db.damaged/segments: ${reason}\n`
}

function listed(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}\n`).join('')
}
