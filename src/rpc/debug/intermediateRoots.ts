import { bytesToHex } from '../../primitives/bytes.ts'
import { readingState } from '../eth/blockLookup.ts'
import { defineMethod } from '../jsonrpc/method.ts'
import { byHash } from '../params/blockSelector.ts'
import { readHash } from '../params/values.ts'
import { beginReplay, replayTransaction, replayUpTo } from './blockReplay.ts'
import { readTraceConfig, runTrace } from './traces.ts'

/**
 * The state root after each Ethereum transaction of a block. A root includes the effects of native
 * transactions before its transaction. The last one is not the root in the header: it lacks the end
 * of the block.
 */
export const intermediateRoots = defineMethod({
  name: 'debug_intermediateRoots',
  runs: 'trace',
  params: [readHash, readTraceConfig],
  required: 1,
  run: (context, hash, config = {}) =>
    runTrace(context, config, async ({ pause }) => {
      const replay = await beginReplay(context, byHash(hash), pause)
      const { world, seed } = replay.execution
      const roots = readingState(() => context.view.stateRoots(seed.number - 1))
      const out: string[] = []
      for (const index of replay.transactions.keys()) {
        await pause()
        await replayUpTo(replay, index, pause)
        await replayTransaction(replay)
        out.push(bytesToHex(await roots.after(world.changes(), pause)))
      }
      return out
    }),
})
