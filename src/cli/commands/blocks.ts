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

/**
 * Adds `coind export`: writes blocks to a file, or to a directory for web servers; {@link
 * addImport} executes them in another node.
 */
export function addExport(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('export')
    .description('Write blocks to a file (stopped node), or to a directory for web servers (stopped or running node)')
    .requiredOption('--out <path>', 'file or directory to write')
    .option('--directory', 'write a directory of files with a manifest; a later export adds newer blocks')
    .option('--from <height>', 'first block (default: the oldest)', wholeNumber(0))
    .option(
      '--to <height>',
      'last block (default: the newest; with --directory the last one that completes a file of 8,192 blocks)',
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
          '--from cannot be used with --directory, which starts at the oldest block or continues an export',
        )
      }
      const mirrors = options.mirror === undefined ? {} : { mirrors: options.mirror }
      const exporting = node.exportDirectory(config, { out, ...to, ...mirrors, signal })
      const interrupted = 'interrupted: run the same command again to continue with the next file'
      const { added, all } = await orInterrupted(exporting, signal, interrupted)
      const count = Math.max(0, added.to - added.from + 1)
      terminal.print(`Exported ${count} more blocks: ${options.out} now has ${all.from} to ${all.to}\n`)
      return
    }
    if (options.mirror !== undefined)
      throw new ConfigError('--mirror requires --directory: an export to a file has no list of mirrors')
    const from = options.from === undefined ? {} : { from: options.from }
    const exporting = node.exportBlocks(config, { out, ...from, ...to, signal })
    const range = await orInterrupted(exporting, signal, 'interrupted: nothing was exported')
    terminal.print(`Exported ${range.to - range.from + 1} blocks, ${range.from} to ${range.to}, to ${options.out}\n`)
  })
}

export function addImport(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('import')
    .description('Execute exported blocks in a stopped node with the same genesis')
    .argument('<place>', 'file or directory to read, or URL of such a directory')
  addConfigFlags(command).action(async (place: string) => {
    const config = configOf(command, terminal)
    const signal = abortOnStop(terminal)
    const range = await node.importBlocks(config, { place: rangeText(place, terminal), signal })
    terminal.print(
      range.to < range.from
        ? `Imported nothing: this node already has block ${range.to}, the last one\n`
        : `Imported ${range.to - range.from + 1} blocks, ${range.from} to ${range.to}\n`,
    )
    if (signal.aborted) throw new Interrupted('interrupted: run the same command again to continue with the next block')
  })
}

/** Adds the option of commands that write a manifest. */
export function addMirrors(command: Command): void {
  command.option('--mirror <url>', 'another address that will have the same files; may be given several times', addUrl)
}

/** @throws InvalidArgumentError, which commander shows with the option */
function addUrl(text: string, before: readonly string[] = []): readonly string[] {
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return [...before, text]
  throw new InvalidArgumentError('It must be an address that starts with http:// or https://.')
}

/** Reads a path, or an address of a web server. @throws ConfigError */
export function rangeText(text: string, { workingDirectory }: Pick<Terminal, 'workingDirectory'>): string | URL {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return resolve(workingDirectory, text)
  if (/^https?:/i.test(text) && URL.canParse(text)) return new URL(text)
  throw new ConfigError(`${text} must be a path, or an address that starts with http:// or https://`)
}
