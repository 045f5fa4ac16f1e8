import { beforeEach, describe, expect, it } from 'vitest'
import { buildTransaction } from '../../../../src/chain/block/transaction.ts'
import type { SubmittedTransaction } from '../../../../src/mempool/types.ts'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { createTransactionDecoder, type TransactionDecoder } from '../../../../src/modules/tx/transactionDecoder.ts'
import { Tx, TxRaw } from '../../../../src/modules/tx/types.ts'
import { concatBytes } from '../../../../src/primitives/bytes.ts'
import { wrapEthereumTx } from '../../../../src/rpc/cosmos/ethereumTx.ts'
import { createSubmitPort, type SubmitPort } from '../../../../src/rpc/submit/submitPort.ts'
import type { EventLoopQuota } from '../../../../src/rpc/transport/eventLoopQuota.ts'
import { anyOf, signTestTransaction, TEST_CHAIN, testAccount } from '../../../native/signTransaction.ts'
import { signEvmTransaction } from '../../../signEvmTransaction.ts'

const alice = testAccount(1)
const GWEI = 10n ** 9n

const send = anyOf(MsgSend, { fromAddress: alice.bech32, toAddress: testAccount(2).bech32, amount: coinsOf(7n) })
const native = signTestTransaction({ messages: [send], signers: [{ ...alice, sequence: 3n }], gasLimit: 100_000n })

function evm(maxFeePerGas = GWEI): Uint8Array {
  const fields = { type: 2, chainId: TEST_CHAIN.evmChainId, nonce: 5n, gasLimit: 21_000n, maxFeePerGas } as const
  return signEvmTransaction(buildTransaction({ ...fields, to: alice.address }), alice.privateKey).raw
}

/** The same native transaction with signatures of 65 bytes, as Go clients send it. */
function withLongSignature(): Uint8Array {
  const { signatures, ...rest } = TxRaw.decode(native)
  return TxRaw.encode({ ...rest, signatures: [concatBytes(signatures[0]!, Uint8Array.of(28))] })
}

/** The decoder's calls, by name. */
let calls: string[]
let pooled: SubmittedTransaction[]
let askedElsewhere: Uint8Array[]

beforeEach(() => {
  calls = []
  pooled = []
  askedElsewhere = []
})

function counted(): TransactionDecoder {
  const decoder = createTransactionDecoder(TEST_CHAIN)
  const count = <A extends readonly unknown[], R>(name: string, run: (...args: A) => R) => {
    return (...args: A): R => {
      calls.push(name)
      return run(...args)
    }
  }
  return {
    ...decoder,
    recoverSender: count('recoverSender', decoder.recoverSender),
    decodeAnyEncoding: count('decodeAnyEncoding', decoder.decodeAnyEncoding),
    decodeVerified: count('decodeVerified', decoder.decodeVerified),
  }
}

/** @param quota of this thread; absent: it verifies all transactions */
function portOf(quota?: EventLoopQuota): SubmitPort {
  return createSubmitPort({
    decoder: counted(),
    limits: { feeCapAcoin: 10n ** 18n, acceptsUnprotected: false },
    pool: {
      add: async (transaction) => {
        pooled.push(transaction)
        return { accepted: true, hash: transaction.hash }
      },
    },
    ...(quota !== undefined && {
      otherThreads: {
        quota,
        verify: async (raw, client, kinds) => {
          askedElsewhere.push(raw)
          return portOf().verify(raw, client, kinds)
        },
      },
    }),
  })
}

describe('a submission', () => {
  it.each([
    ['EVM', evm(), evm(), 5n, ['recoverSender']],
    ['native', native, native, 3n, ['decodeAnyEncoding']],
    ['EVM in a native one', Tx.encode(wrapEthereumTx(evm(), alice.address)), evm(), 5n, ['recoverSender']],
    // The second call decodes other bytes.
    ['native in another encoding', withLongSignature(), native, 3n, ['decodeAnyEncoding', 'decodeAnyEncoding']],
  ] as const)('decodes and verifies a transaction once: %s', async (_, given, raw, nonce, expected) => {
    expect(await portOf().submit(given, '::1')).toMatchObject({ code: 0, log: '' })
    expect(pooled).toMatchObject([{ raw, sender: alice.address, nonce, authorizations: 0 }])
    expect(calls).toEqual(expected)
  })

  it.each([
    ['EVM', evm(), ['recoverSender']],
    ['native', native, ['decodeAnyEncoding']],
    ['EVM in a native one', Tx.encode(wrapEthereumTx(evm(), alice.address)), ['recoverSender']],
  ] as const)('beyond the quota is verified in another thread alone: %s', async (_, raw, expected) => {
    expect(await portOf({ take: () => false }).submit(raw, '::1')).toMatchObject({ code: 0 })
    expect(askedElsewhere).toEqual([raw])
    expect(calls).toEqual(expected)
    const wrong = raw.slice()
    wrong[wrong.length - 1]! ^= 1
    await portOf({ take: () => false }).submit(wrong, '::1')
    expect(askedElsewhere).toEqual([raw, wrong])
  })

  it('takes more from the quota the longer it is, and one that would take very much goes elsewhere', async () => {
    const taken: (number | undefined)[] = []
    const port = portOf({ take: (weight) => taken.push(weight) > 0 })
    const nativeOf = (length: number) => new Uint8Array(length).fill(0x0a)
    const evmOf = (length: number) => new Uint8Array(length).fill(1)
    for (const raw of [nativeOf(100), nativeOf(8_000), nativeOf(9_000), evmOf(9_000), evmOf(131_072)]) {
      await port.submit(raw, '::1')
    }
    expect(taken).toEqual([1, 16, 1, 9])
    expect(askedElsewhere).toEqual([nativeOf(9_000)])
  })

  it('that is too long is refused before anything decodes it', async () => {
    const raw = new Uint8Array(200_000).fill(1)
    const log = 'oversized data: transaction size 200000, limit 131072'
    expect(await portOf({ take: () => expect.unreachable() }).submit(raw, '::1')).toMatchObject({ code: 21, log })
    expect([askedElsewhere, calls]).toEqual([[], []])
  })

  it('of a method of Ethereum takes no native transaction', async () => {
    const refused = { codespace: 'evm', code: 2, log: 'transaction type not supported' }
    expect(await portOf().submit(native, '::1', 'evm')).toMatchObject(refused)
    expect(pooled).toEqual([])
  })

  it('reaches the pool in the order of the calls', async () => {
    const port = portOf()
    await Promise.all([port.submit(evm(), '::1'), port.submit(native, '::1'), port.submit(evm(2n * GWEI), '::1')])
    expect(pooled.map(({ raw }) => raw)).toEqual([evm(), native, evm(2n * GWEI)])
  })
})
