import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { addConfigFlags, configOf } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { abortOnStop, Interrupted } from '../stopSignal.ts'

interface ExportFlags {
  readonly out: string
  readonly from?: number
  readonly to?: number
}

/** Blocks of a stopped node to a file; {@link addImport} executes them in another. */
export function addExport(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('export')
    .description('Write blocks to a file, from a stopped node')
    .requiredOption('--out <file>', 'file to write')
    .option('--from <height>', 'first block (default: the oldest)', blockHeight)
    .option('--to <height>', 'last block (default: the newest)', blockHeight)
  addConfigFlags(command).action(async (options: ExportFlags) => {
    const config = configOf(command, terminal)
    const signal = abortOnStop(terminal)
    const exported = node.exportBlocks(config, {
      out: resolve(terminal.workingDirectory, options.out),
      ...(options.from === undefined ? {} : { from: options.from }),
      ...(options.to === undefined ? {} : { to: options.to }),
      signal,
    })
    const range = await exported.catch((error: unknown) => {
      throw error === signal.reason ? new Interrupted('interrupted: nothing was exported') : error
    })
    terminal.print(`Exported ${range.to - range.from + 1} blocks, ${range.from} to ${range.to}, to ${options.out}\n`)
  })
}

export function addImport(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('import')
    .description('Execute the blocks of a file that export wrote, in a stopped node with the same genesis')
    .argument('<file>', 'file to read')
  addConfigFlags(command).action(async (file: string) => {
    const config = configOf(command, terminal)
    const signal = abortOnStop(terminal)
    const range = await node.importBlocks(config, { file: resolve(terminal.workingDirectory, file), signal })
    terminal.print(
      range.to < range.from
        ? `Imported nothing: this node has block ${range.to}, and the file none after it\n`
        : `Imported ${range.to - range.from + 1} blocks, ${range.from} to ${range.to}\n`,
    )
    if (signal.aborted) throw new Interrupted('interrupted: the same command goes on with the next block')
  })
}

/** A height of an option. @throws InvalidArgumentError, which commander shows with the option */
export function blockHeight(text: string): number {
  const height = Number(text)
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(height))
    throw new InvalidArgumentError('Expected a block height.')
  return height
}
