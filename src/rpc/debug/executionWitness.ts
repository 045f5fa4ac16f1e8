import { encodeEthereumHeader } from '../../chain/block/ethereumBlock.ts'
import type { TraceBudget } from '../../evm/tracers/traceCollector.ts'
import { bytesKey, bytesToHex, equalBytes, keyBytes } from '../../primitives/bytes.ts'
import { keccak256 } from '../../primitives/hash.ts'
import { NATIVE_ACCOUNT, nativeSlot } from '../../state/prepareChanges.ts'
import type { StateReader } from '../../state/reader.ts'
import { prunedHistory, readingState } from '../eth/blockLookup.ts'
import { serverError } from '../jsonrpc/errors.ts'
import { defineMethod, type RpcContext } from '../jsonrpc/method.ts'
import { readBlockNumberOrHash } from '../params/blockSelector.ts'
import { beginReplay, replayTransaction } from './blockReplay.ts'
import { runTrace } from './traces.ts'

/** Slots of an account that are proved between two pauses. */
const SLOTS_AT_A_TIME = 256

/**
 * Everything needed to execute a block without the state (reth): trie nodes of the state before it,
 * bytecode, the addresses and slots that were read or changed, and headers, from the oldest whose
 * hash the block reads to the parent's. Native entries are slots of the reserved account. When a
 * module iterates over them, the witness does not prove that no entry lies between two of them.
 */
export const executionWitness = defineMethod({
  name: 'debug_executionWitness',
  runs: 'trace',
  params: [readBlockNumberOrHash],
  run: (context, selector) =>
    runTrace(context, {}, async ({ pause, budget }) => {
      const reads = new StateReads()
      const replay = await beginReplay(context, selector, pause, reads)
      const { execution, entries } = replay
      while (execution.results.length < entries.length) {
        await pause()
        await replayTransaction(replay)
      }
      execution.end()
      const { number } = execution.seed
      const nodes = new Map<string, Uint8Array>()
      const addNode = (node: Uint8Array): void => {
        const key = bytesKey(keccak256(node))
        if (nodes.has(key)) return
        spend(budget, node)
        nodes.set(key, node.slice())
      }
      // Neighbours of deleted nodes are needed too. Building the new trie finds them.
      const roots = readingState(() => context.view.stateRoots(number - 1, addNode))
      const root = await roots.after(execution.world.changes(), pause)
      if (!equalBytes(root, context.view.chain.header(number)!.stateRoot)) {
        throw serverError(`block ${number} has a different state root when executed again`)
      }
      for (const [name, slots] of reads.accounts) {
        const all = [...slots].map(keyBytes)
        for (let at = 0; at === 0 || at < all.length; at += SLOTS_AT_A_TIME) {
          await pause()
          const some = all.slice(at, at + SLOTS_AT_A_TIME)
          const proof = await context.view.proofAt(number - 1, keyBytes(name), some, pause)
          for (const node of [...proof.accountProof, ...proof.storageProofs.flatMap((one) => one.proof)]) addNode(node)
        }
      }
      const keys = [...reads.accounts].flatMap(([name, slots]) => [keyBytes(name), ...[...slots].map(keyBytes)])
      for (const bytes of [...keys, ...reads.bytecode.values()]) spend(budget, bytes)
      return {
        state: Array.from(nodes.values(), bytesToHex),
        codes: Array.from(reads.bytecode.values(), bytesToHex),
        keys: keys.map(bytesToHex),
        headers: headersFrom(context, Math.min(number - 1, reads.oldestHash), number - 1),
      }
    }),
})

/**
 * Records everything that the execution of a block reads from the state, and the hashes of older
 * blocks that it reads.
 */
class StateReads {
  /** slots by account, both as `bytesKey` */
  readonly accounts = new Map<string, Set<string>>()
  /** bytecode by hash, as `bytesKey` */
  readonly bytecode = new Map<string, Uint8Array>()
  oldestHash = Number.POSITIVE_INFINITY

  /** Returns a reader of the same state that records what is read. */
  observe(state: StateReader): StateReader {
    const addAccount = (address: Uint8Array): Set<string> => {
      const name = bytesKey(address)
      const slots = this.accounts.get(name) ?? new Set<string>()
      this.accounts.set(name, slots)
      return slots
    }
    const addNative = (key: Uint8Array): void => {
      addAccount(NATIVE_ACCOUNT).add(bytesKey(nativeSlot(key)))
    }
    return {
      getAccount: (address) => {
        addAccount(address)
        return state.getAccount(address)
      },
      getStorage: (address, slot) => {
        addAccount(address).add(bytesKey(slot))
        return state.getStorage(address, slot)
      },
      storageCount: (address) => {
        addAccount(address)
        return state.storageCount(address)
      },
      getCode: (codeHash) => {
        const code = state.getCode(codeHash)
        if (code.length > 0) this.bytecode.set(bytesKey(codeHash), code)
        return code
      },
      getNative: (key) => {
        addNative(key)
        return state.getNative(key)
      },
      nativeRange: function* (prefix, start, reverse) {
        for (const key of state.nativeRange(prefix, start, reverse)) {
          addNative(key)
          yield key
        }
      },
    }
  }

  /** Records that this block's hash was read. */
  onBlockHash(number: number): void {
    this.oldestHash = Math.min(this.oldestHash, number)
  }
}

/** Returns the RLP of headers. @throws RpcError when one of them is not retained */
function headersFrom({ view }: RpcContext, first: number, last: number): string[] {
  const headers: string[] = []
  for (let number = first; number <= last; number++) {
    const header = view.chain.header(number)
    if (header === undefined) throw prunedHistory(view.chain)
    headers.push(bytesToHex(encodeEthereumHeader(header)))
  }
  return headers
}

function spend(budget: TraceBudget, bytes: Uint8Array): void {
  budget.spend(2 * bytes.length + 5)
  budget.check()
}
