import type { Log } from '../../../chain/receipt.ts'
import type { RunState } from './runState.ts'

const ADDRESS_BYTES = 20
const TOPIC_BYTES = 32
const HIGH_HALF = 2 ** 32

/** The engine's imports for checkpoints, logs and the hashes of blocks. */
export function journalImports(run: RunState) {
  return {
    checkpoint(count: number): void {
      for (let i = 0; i < count; i++) openCheckpoint(run)
    },

    commit(): void {
      closeCheckpoint(run)
    },

    revert(): void {
      run.openCheckpoints--
      run.world.revert()
    },

    emitLog(addressAt: number, topicsAt: number, topicCount: number, dataAt: number, length: number): void {
      const { memory, world, tracing } = run
      const topics: Uint8Array[] = []
      for (let i = 0; i < topicCount; i++) topics.push(memory.copy(topicsAt + i * TOPIC_BYTES, TOPIC_BYTES))
      const log: Log = { address: memory.copy(addressAt, ADDRESS_BYTES), topics, data: memory.copy(dataAt, length) }
      world.emitLog(log)
      tracing?.log(log)
    },

    blockHash(low: number, high: number, out: number): void {
      const hash = run.environment.block.blockHash((high >>> 0) * HIGH_HALF + (low >>> 0))
      run.memory.writeBytesAsWord(out, hash ?? UNKNOWN)
    },
  }
}

const UNKNOWN = new Uint8Array(0)

export function openCheckpoint(run: RunState): void {
  run.world.checkpoint()
  run.openCheckpoints++
}

/** Keeps what was done in the innermost checkpoint. */
export function closeCheckpoint(run: RunState): void {
  run.openCheckpoints--
  run.world.commit()
}

/** Reverts every checkpoint that a run which broke off has left open. */
export function unwind(run: RunState): void {
  for (; run.openCheckpoints > 0; run.openCheckpoints--) run.world.revert()
}
