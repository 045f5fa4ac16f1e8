/**
 * Executes the decided blocks of a file as a node does, each while the one before is being written, and kills itself at a moment of the
 * write of one of them. Writes a line for each block that it goes on from.
 *
 *   node test/crash/behindChild.ts <directory> <file> <height> <moment>
 */
import { writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { readBlockFile } from '../../src/datadir/blockFile.ts'
import { Database } from '../../src/storage/database.ts'
import { networkGenesis, openNetworkNode } from '../support/execution/testNetwork.ts'

/**
 * - `before`: LevelDB has not got the block, and the next one is executed
 * - `during`: LevelDB is writing it
 * - `next`: the next one is executed, while LevelDB is writing it
 * - `after`: it is written, and the next one is executed
 */
export type Moment = 'before' | 'during' | 'next' | 'after'

const [directory, path, at, moment] = process.argv.slice(2) as [string, string, string, Moment]
const killHeight = Number(at)
const kill = (): void => void process.kill(process.pid, 'SIGKILL')

const written = Promise.withResolvers<void>()
const node = await openNetworkNode(networkGenesis(2), {
  directory,
  writesBehind: true,
  onPublished: (height) => {
    if (height === killHeight) written.resolve()
  },
})
const { application } = node.executor

let height = node.executor.head().header.number
const { write } = Database.prototype
Database.prototype.write = async function (batch, options) {
  if (height !== killHeight) return write.call(this, batch, options)
  if (moment === 'before') return new Promise(() => undefined)
  const writing = write.call(this, batch, options)
  if (moment === 'during') kill()
  return writing
}

const file = await open(path)
for await (const { block, commit } of readBlockFile(file, node.chain.genesisHash)) {
  if (block.header.height <= node.executor.head().header.number) continue
  height = block.header.height
  if (height === killHeight + 1) {
    if (moment === 'after') await written.promise
    await application.processProposal(block)
    kill()
  }
  await application.finalizeBlock({ block, blockId: commit.blockId, seenCommit: commit })
  writeSync(1, `${height}\n`)
}
await file.close()
await node.close()
