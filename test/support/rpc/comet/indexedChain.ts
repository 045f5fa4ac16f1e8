import { privateKeyToAccount } from 'viem/accounts'
import { entryHash } from '../../../../src/chain/block/entries.ts'
import { type BlockHooks, MODULE_HOOKS } from '../../../../src/execution/blockHooks.ts'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { CONSENSUS_PARAMS } from '../../../../src/modules/consensus/params.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'
import { createViewCaches, type NodeView, openView } from '../../../../src/state/view.ts'
import { Database } from '../../../../src/storage/database.ts'
import { anyOf, signTestTransaction, testAccount } from '../../../native/signTransaction.ts'
import { createTestChain, type TestChain, WALLET, WALLET_KEY } from '../../execution/testChain.ts'

const account = privateKeyToAccount(WALLET_KEY)
export const receiver = testAccount(7)
export const stranger = testAccount(8)

function send(sequence: number, amount: bigint, to = receiver.bech32): Uint8Array {
  return signTestTransaction({
    messages: [anyOf(MsgSend, { fromAddress: toBech32(WALLET), toAddress: to, amount: [{ denom: 'acoin', amount }] })],
    signers: [{ privateKey: hexToBytes(WALLET_KEY), sequence }],
    gasLimit: 100_000n,
  })
}

async function transfer(nonce: number, value: bigint): Promise<Uint8Array> {
  const to = `0x${Buffer.from(receiver.address).toString('hex')}` as const
  const fees = { gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n }
  return hexToBytes(await account.signTransaction({ chainId: 76287, type: 'eip1559', to, nonce, value, ...fees }))
}

/** Governance, as far as these tests need it: other gas limits from the blocks after 2 and 5 on. */
const GAS_LIMITS: Readonly<Record<number, bigint>> = { 2: 31_000_000n, 5: 32_000_000n }

const end: BlockHooks['end'] = (world, block) => {
  const maxGas = GAS_LIMITS[block.height]
  const { block: sizes, ...others } = CONSENSUS_PARAMS.get(world.native)
  if (maxGas !== undefined) CONSENSUS_PARAMS.set(world.native, { ...others, block: { ...sizes!, maxGas } })
  return MODULE_HOOKS.end(world, block)
}

/** Five blocks with transactions of both kinds, good and bad ones, and their event index. */
export interface IndexedChain {
  readonly chain: TestChain['chain']
  /** of the first four blocks */
  readonly txs: readonly (readonly Uint8Array[])[]
  view(): NodeView
  /** of a transaction, as CometBFT writes it */
  hashOf(height: number, position: number): string
  close(): Promise<void>
}

export async function createIndexedChain(): Promise<IndexedChain> {
  const chain = await createTestChain({}, { hooks: { ...MODULE_HOOKS, end } })
  const txs = [
    [send(0, 10n), await transfer(1, 20n)],
    [],
    [send(2, 30n), send(3, 10n ** 40n), send(4, 5n, stranger.bech32)],
    // It cannot start.
    [send(99, 1n)],
  ]
  for (const raws of txs) await chain.produce(raws, { asGiven: true })
  await chain.produce()
  const database = await Database.open(chain.location, { readOnly: true })
  return {
    chain: chain.chain,
    txs,
    view: () => openView(database.snapshot(), createViewCaches()),
    hashOf: (height, position) =>
      Buffer.from(entryHash(txs[height - 1]![position]!))
        .toString('hex')
        .toUpperCase(),
    close: async () => {
      await database.close()
      await chain.close()
    },
  }
}
