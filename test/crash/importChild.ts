/**
 * Follows the blocks of a file as a node does that catches up, until it is killed. Writes a line for each block. After `blocks` of
 * them it waits for the kill.
 *
 *   node test/crash/importChild.ts <directory> <file> <blocks>
 */
import { writeSync } from 'node:fs'
import { importBlocks } from '../../src/datadir/importBlocks.ts'
import { networkGenesis, openNetworkNode } from '../support/execution/testNetwork.ts'

const [directory, path, blocks] = process.argv.slice(2) as [string, string, string]
const node = await openNetworkNode(networkGenesis(2), { directory })
const { application } = node.executor
let followed = 0
const onBlock = (height: number): void => {
  writeSync(1, `${height}\n`)
  if (++followed < Number(blocks)) return
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
await importBlocks({ application, chain: node.chain, path, onBlock })
await node.close()
