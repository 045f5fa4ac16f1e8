import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { addConfigFlags, configOf } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { abortOnStop, Interrupted, orInterrupted } from '../stopSignal.ts'
import { wholeNumber } from '../wholeNumber.ts'

interface ExportFlags {
  readonly out: string
  readonly directory?: boolean
  readonly from?: number
  readonly to?: number
  readonly mirror?: readonly string[]
}

/** Blocks to a file, or to a directory for web servers; {@link addImport} executes them in another node. */
export function addExport(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('export')
    .description('Write blocks to a file, from a stopped node; or to a directory for web servers, from any')
    .requiredOption('--out <path>', 'file to write, or directory')
    .option('--directory', 'write a directory of files with a manifest; a later export adds the blocks since')
    .option('--from <height>', 'first block (default: the oldest)', wholeNumber(0))
    .option(
      '--to <height>',
      'last block (default: the newest; in a directory the last one that makes a multiple of 8,192 with block 0)',
      wholeNumber(0),
    )
  addMirrors(command)
  addConfigFlags(command).action(async (options: ExportFlags) => {
    const config = configOf(command, terminal)
    const signal = abortOnStop(terminal)
    const out = resolve(terminal.workingDirectory, options.out)
    const to = options.to === undefined ? {} : { to: options.to }
    if (options.directory === true) {
      if (options.from !== undefined) {
        throw new ConfigError(
          '--from does not go with --directory: a directory begins with the oldest block, or goes on',
        )
      }
      const mirrors = options.mirror === undefined ? {} : { mirrors: options.mirror }
      const exporting = node.exportDirectory(config, { out, ...to, ...mirrors, signal })
      const interrupted = 'interrupted: the same command goes on with the next file'
      const { added, all } = await orInterrupted(exporting, signal, interrupted)
      const count = Math.max(0, added.to - added.from + 1)
      terminal.print(`Exported ${count} more blocks: ${options.out} has ${all.from} to ${all.to}\n`)
      return
    }
    if (options.mirror !== undefined) throw new ConfigError('--mirror goes with --directory: a file names no mirrors')
    const from = options.from === undefined ? {} : { from: options.from }
    const exporting = node.exportBlocks(config, { out, ...from, ...to, signal })
    const range = await orInterrupted(exporting, signal, 'interrupted: nothing was exported')
    terminal.print(`Exported ${range.to - range.from + 1} blocks, ${range.from} to ${range.to}, to ${options.out}\n`)
  })
}

export function addImport(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('import')
    .description('Execute the blocks that export wrote, in a stopped node with the same genesis')
    .argument('<place>', 'file or directory to read, or URL of such a directory')
  addConfigFlags(command).action(async (place: string) => {
    const config = configOf(command, terminal)
    const signal = abortOnStop(terminal)
    const range = await node.importBlocks(config, { place: placeOf(place, terminal), signal })
    terminal.print(
      range.to < range.from
        ? `Imported nothing: this node has block ${range.to}, and there is none after it\n`
        : `Imported ${range.to - range.from + 1} blocks, ${range.from} to ${range.to}\n`,
    )
    if (signal.aborted) throw new Interrupted('interrupted: the same command goes on with the next block')
  })
}

/** The option of commands that write a manifest. */
export function addMirrors(command: Command): void {
  command.option('--mirror <url>', 'another address that will have the same files; may be given again', addUrl)
}

/** @throws InvalidArgumentError, which commander shows with the option */
function addUrl(text: string, before: readonly string[] = []): readonly string[] {
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return [...before, text]
  throw new InvalidArgumentError('It is no address: it begins with http:// or https://.')
}

/** A path, or an address of a web server. @throws ConfigError */
export function placeOf(text: string, { workingDirectory }: Pick<Terminal, 'workingDirectory'>): string | URL {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return resolve(workingDirectory, text)
  if (/^https?:/i.test(text) && URL.canParse(text)) return new URL(text)
  throw new ConfigError(`${text} is no address: it begins with http:// or https://, or is a path`)
}
