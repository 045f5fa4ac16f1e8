import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, expect, it } from 'vitest'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { StateUnavailable } from '../../src/state/head.ts'
import { createViewCaches, openView } from '../../src/state/view.ts'
import { Column, prefixEnd } from '../../src/storage/columns.ts'
import { Database } from '../../src/storage/database.ts'
import { firstSeed, runs } from '../propertyRuns.ts'
import { createTestChain, type TestChain, WALLET_KEY } from '../support/execution/testChain.ts'
import { createRandom } from '../support/state/randomChain.ts'

const WINDOW = 50
const BLOCKS = runs(500)
const STATE_HISTORY = [Column.changeIndex, Column.changeShard, Column.trieHistory, Column.blockChanges]
/** headers and commits stay whatever is pruned */
const BODIES = [Column.results, Column.transaction, Column.nativeTransaction, Column.logTerm, Column.eventTerm]
const RECEIVERS = Array.from({ length: 12 }, (_, i) => `0x${(0xabc0 + i).toString(16).padStart(40, '0')}` as const)

let chain: TestChain
afterEach(() => chain.close())

/** Bytes of keys and values in the columns, as they are in the files once LevelDB has merged them. */
async function diskUse(columns: readonly Column[]): Promise<number> {
  const database = await Database.open(chain.location, { readOnly: true })
  await database.compact(Uint8Array.of(0), Uint8Array.of(0xff))
  let bytes = 0
  for (const column of columns) {
    const start = Uint8Array.of(column)
    for await (const [key, value] of database.entries({ start, end: prefixEnd(start) })) {
      bytes += key.length + value.length
    }
  }
  await database.close()
  return bytes
}

it(`keeps ${WINDOW} blocks of state and transactions of ${BLOCKS}, in disk space that does not grow`, async () => {
  chain = await createTestChain({}, { pruning: WINDOW, blockHistory: WINDOW })
  const account = privateKeyToAccount(WALLET_KEY)
  const random = createRandom(firstSeed(1))
  const balances = new Map<string, bigint>()
  const history: ReadonlyMap<string, bigint>[] = [new Map()]
  const sizes: { readonly state: number; readonly bodies: number }[] = []
  for (let height = 1; height <= BLOCKS; height++) {
    const to = RECEIVERS[random(RECEIVERS.length)]!
    const value = BigInt(1 + random(1_000_000))
    const raw = await account.signTransaction({
      type: 'eip1559',
      chainId: 76287,
      nonce: height - 1,
      gas: 21_000n,
      maxFeePerGas: 10n ** 10n,
      maxPriorityFeePerGas: 10n ** 9n,
      to,
      value,
    })
    await chain.produce([hexToBytes(raw)])
    balances.set(to, (balances.get(to) ?? 0n) + value)
    history.push(new Map(balances))
    if (height % (BLOCKS / 4) === 0) sizes.push({ state: await diskUse(STATE_HISTORY), bodies: await diskUse(BODIES) })
  }

  const [first, ...later] = sizes
  for (const size of later) {
    // The paths of a trie of more slots are longer; entries of blocks that are gone would multiply it.
    expect(size.state / first!.state).toBeLessThan(1.2)
    expect(size.bodies / first!.bodies).toBeLessThan(1.05)
  }

  const database = await Database.open(chain.location, { readOnly: true })
  const snapshot = database.snapshot()
  const view = openView(snapshot, createViewCaches())
  const oldest = BLOCKS - WINDOW
  for (let height = 0; height <= BLOCKS; height++) {
    if (height < oldest) {
      expect(() => view.stateAt(height)).toThrow(new StateUnavailable(height, oldest))
      if (height > 0) expect(view.chain.transactions(height)).toBeUndefined()
      expect(view.chain.header(height)?.number).toBe(height)
      continue
    }
    const state = view.stateAt(height)
    for (const receiver of RECEIVERS) {
      const balance = state.getAccount(hexToBytes(receiver))?.balance
      expect(balance).toBe(history[height]!.get(receiver))
    }
    expect(view.chain.transactions(height)).toHaveLength(1)
    expect(view.chain.receipts(height)).toMatchObject([{ status: 1, gasUsed: 21_000n }])
  }
  expect(new StateUnavailable(3, oldest).message).toMatch(/^historical state .* is not available/)
  await snapshot.close()
  await database.close()
})
