import { privateKeyToAccount } from 'viem/accounts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { type MadeSnapshot, type MakeOptions, makeSnapshot } from '../../../src/snapshot/makeSnapshot.ts'
import { Database } from '../../../src/storage/database.ts'
import { createTestChain, type TestChain, type TestChainOptions, WALLET_KEY } from '../execution/testChain.ts'

const account = privateKeyToAccount(WALLET_KEY)

/** Sets slots 1 to 100 to their own numbers, and leaves one byte of code, 0x00. */
const LARGE_STORAGE = '0x60645b808055600190038060025760016000f3'
/** Sets slot 0 to the transaction's gas price and slot 1 to 1, and leaves 32 bytes of code, all 0x00. */
const SMALL_STORAGE = '0x3a600055600160015560206000f3'

const TRANSFERS = 30
const TRANSACTION = { chainId: 76287, type: 'eip1559', gas: 5_000_000n, maxFeePerGas: 10n ** 10n } as const

const sign = async (nonce: number, request: { data: `0x${string}` } | { to: `0x${string}`; value?: bigint }) =>
  hexToBytes(await account.signTransaction({ ...TRANSACTION, nonce, ...request }))

/** Signed once for all chains: that takes longer than their execution. */
const deployments = Promise.all(([LARGE_STORAGE, SMALL_STORAGE] as const).map((data, nonce) => sign(nonce, { data })))
const transfers = Promise.all(
  Array.from({ length: TRANSFERS }, (_, i) => {
    const to = `0x${(i + 1).toString(16).padStart(40, 'ab')}` as const
    return sign(2 + i, { to, value: 10n ** 15n })
  }),
)
const lastTransfer = sign(2 + TRANSFERS, { to: account.address })

/** A chain with contracts and transfers in its first blocks, and one more in the block `head`, which a snapshot comes before. */
export async function createSnapshotChain(head: number, options: TestChainOptions = {}): Promise<TestChain> {
  const chain = await createTestChain({}, options)
  await chain.produce(await deployments)
  await chain.produce(await transfers)
  while (chain.executor.head().header.number < head - 1) await chain.produce()
  await chain.produce([await lastTransfer])
  return chain
}

/** So that a small state has several chunks of each kind. */
const SIZES = { chunkBytes: 1500, inlineSlots: 40 } as const

/** Makes a snapshot from the newest blocks of a chain, in chunks of {@link SIZES}. `onDamage` see `DatabaseOptions`. */
export async function snapshotOf(
  { location, chain }: Pick<TestChain, 'location' | 'chain'>,
  options: Omit<MakeOptions, 'sizes'>,
  onDamage: () => void = () => undefined,
): Promise<MadeSnapshot> {
  const database = await Database.open(location, { readOnly: true, onDamage })
  const snapshot = database.snapshot()
  try {
    return await makeSnapshot(snapshot, chain, { sizes: SIZES, sortBytes: 1000, ...options })
  } finally {
    await snapshot.close()
    await database.close()
  }
}
