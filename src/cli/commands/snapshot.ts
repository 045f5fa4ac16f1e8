import { resolve } from 'node:path'
import type { Command } from 'commander'
import { bytesToUpperHex } from '../../primitives/bytes.ts'
import { addConfigFlags, configOf } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { abortOnStop, orInterrupted } from '../stopSignal.ts'
import { wholeNumber } from '../wholeNumber.ts'
import { addMirrors, rangeText } from './blocks.ts'

interface CreateFlags {
  readonly out: string
  readonly height?: number
  readonly mirror?: readonly string[]
}

/** Adds `coind snapshot`: makes and checks snapshots of the state, and lists those that the node has made itself. */
export function addSnapshot(program: Command, node: NodeCommands, terminal: Terminal): void {
  const group = program.command('snapshot').description('Create, check and list snapshots of the state')
  addCreate(group, node, terminal)
  addVerify(group, node, terminal)
  addList(group, node, terminal)
}

function addCreate(group: Command, node: NodeCommands, terminal: Terminal): void {
  const command = group
    .command('create')
    .description('Create a snapshot from which other nodes can start; the node may be running')
    .requiredOption('--out <directory>', 'directory to create; it must not exist')
    .option('--height <height>', 'block whose resulting state is saved (default: 3 below the newest)', wholeNumber(0))
  addMirrors(command)
  addConfigFlags(command).action(async (options: CreateFlags) => {
    const config = configOf(command, terminal)
    const signal = abortOnStop(terminal)
    const out = resolve(terminal.workingDirectory, options.out)
    const making = node.createSnapshot(config, {
      out,
      ...(options.height === undefined ? {} : { height: options.height }),
      mirrors: options.mirror ?? [],
      signal,
    })
    const { height, chunks, bytes } = await orInterrupted(making, signal, 'interrupted: no snapshot was made')
    terminal.print(`Created a snapshot of block ${height}: ${chunks} chunks, ${bytes} bytes, in ${out}\n`)
  })
}

function addVerify(group: Command, node: NodeCommands, terminal: Terminal): void {
  const command = group
    .command('verify')
    .description('Check all files of a snapshot, and that it belongs to the chain in HOMEDIR, if there is one')
    .argument('<place>', 'directory of the snapshot, or URL of that directory or of its manifest.json')
  addConfigFlags(command).action(async (place: string) => {
    const config = configOf(command, terminal)
    const signal = abortOnStop(terminal)
    const verifying = node.verifySnapshot(config, rangeText(place, terminal), signal)
    const { height, consensusHash, chunks, bytes } = await orInterrupted(verifying, signal, 'interrupted')
    terminal.print(`The snapshot of block ${height} is complete and consistent: ${chunks} chunks, ${bytes} bytes
It is the chain's state if the chain's block ${height} has this hash: ${bytesToUpperHex(consensusHash)}
`)
  })
}

function addList(group: Command, node: NodeCommands, terminal: Terminal): void {
  const command = group.command('list').description('List the snapshots created by the node (SNAPSHOT_INTERVAL)')
  addConfigFlags(command).action(async () => {
    const snapshots = await node.listSnapshots(configOf(command, terminal))
    if (snapshots.length === 0) terminal.print('There are no snapshots.\n')
    for (const { height, timestamp, chunks, bytes } of snapshots) {
      const time = new Date(timestamp * 1000).toISOString().replace('.000Z', 'Z')
      terminal.print(`block ${height}  ${time}  ${chunks} chunks  ${bytes} bytes\n`)
    }
  })
}
