/**
 * Follows the blocks of a file as a node does that catches up, until it is killed. Writes a line for each block.
 *
 *   node test/crash/importChild.ts <directory> <file>
 */
import { writeSync } from 'node:fs'
import { importBlocks } from '../../src/app/importBlocks.ts'
import { networkGenesis, openNetworkNode } from '../unit/app/testNetwork.ts'

const [directory, path] = process.argv.slice(2) as [string, string]
const node = await openNetworkNode(networkGenesis(2), { directory })
const { application } = node.executor
await importBlocks({ application, chain: node.chain, path, onBlock: (height) => void writeSync(1, `${height}\n`) })
await node.close()
