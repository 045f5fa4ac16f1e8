import { privateKeyToAccount } from 'viem/accounts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { type MadeSnapshot, type MakeOptions, makeSnapshot } from '../../../src/snapshot/makeSnapshot.ts'
import { Database } from '../../../src/storage/database.ts'
import { createTestChain, type TestChain, type TestChainOptions, WALLET_KEY } from '../app/testChain.ts'

const account = privateKeyToAccount(WALLET_KEY)

/** Sets slots 1 to 100 to their own numbers, and leaves one byte of code. */
const LARGE_STORAGE = '0x60645b80805560019003806002576001600 0f3'.replace(' ', '')
/** Sets two slots, and leaves 32 bytes of code: the transaction's gas price and zeros. */
const SMALL_STORAGE = '0x3a600055600160015560206000f3'

/** A chain with contracts and transfers in its first blocks; then it has empty blocks up to `head`. */
export async function createSnapshotChain(head: number, options: TestChainOptions = {}): Promise<TestChain> {
  const chain = await createTestChain({}, options)
  const fields = { chainId: 76287, type: 'eip1559', gas: 5_000_000n, maxFeePerGas: 10n ** 10n } as const
  const requests = [
    { data: LARGE_STORAGE },
    { data: SMALL_STORAGE },
    ...Array.from({ length: 30 }, (_, i) => ({
      to: `0x${(i + 1).toString(16).padStart(40, 'ab')}`,
      value: 10n ** 15n,
    })),
  ] as { data?: `0x${string}`; to?: `0x${string}`; value?: bigint }[]
  const raws: Uint8Array[] = []
  for (const [nonce, request] of requests.entries()) {
    raws.push(hexToBytes(await account.signTransaction({ ...fields, nonce, ...request })))
  }
  await chain.produce(raws.slice(0, 2))
  await chain.produce(raws.slice(2))
  // One more in a later block, so that the blocks after a snapshot change something.
  while (chain.executor.head().header.number < head - 1) await chain.produce()
  await chain.produce([
    hexToBytes(await account.signTransaction({ ...fields, nonce: requests.length, to: account.address })),
  ])
  return chain
}

/** So that a small state has several chunks of each kind. */
const SIZES = { chunkBytes: 1500, inlineSlots: 40 } as const

/** Makes a snapshot from the newest blocks of a chain, in chunks of {@link SIZES}. */
export async function snapshotOf(
  { location, chain }: Pick<TestChain, 'location' | 'chain'>,
  options: Omit<MakeOptions, 'sizes'>,
): Promise<MadeSnapshot> {
  const database = await Database.open(location, { readOnly: true })
  const snapshot = database.snapshot()
  try {
    return await makeSnapshot(snapshot, chain, { sizes: SIZES, sortBytes: 1000, ...options })
  } finally {
    await snapshot.close()
    await database.close()
  }
}
