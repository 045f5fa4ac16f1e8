import { beforeEach, describe, expect, it } from 'vitest'
import { buildTransaction } from '../../../../src/chain/block/transaction.ts'
import type { SubmittedTransaction } from '../../../../src/mempool/types.ts'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { createTransactionDecoder, type TransactionDecoder } from '../../../../src/modules/tx/transactionDecoder.ts'
import { Tx, TxRaw } from '../../../../src/modules/tx/types.ts'
import { concatBytes } from '../../../../src/primitives/bytes.ts'
import { wrapEthereumTx } from '../../../../src/rpc/cosmos/ethereumTx.ts'
import { createSubmitPort } from '../../../../src/rpc/submit/submitPort.ts'
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

/** @param elsewhere who sent a transaction, according to the other threads; absent: this thread checks all signatures */
function portOf(elsewhere?: Uint8Array | 'wrong') {
  return createSubmitPort({
    decoder: counted(),
    limits: { feeCapAcoin: 10n ** 18n, acceptsUnprotected: false },
    pool: {
      add: async (transaction) => {
        pooled.push(transaction)
        return { accepted: true, hash: transaction.hash }
      },
    },
    ...(elsewhere !== undefined && {
      otherThreads: {
        quota: { take: () => askedElsewhere.length > 0 },
        recoverSenders: async (transactions) => {
          askedElsewhere.push(...transactions)
          return transactions.map(() => (elsewhere === 'wrong' ? undefined : elsewhere))
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
    ['EVM', evm(), evm(), []],
    ['native', native, native, ['decodeVerified']],
    ['EVM in a native one', Tx.encode(wrapEthereumTx(evm(), alice.address)), evm(), []],
  ] as const)('verifies no signature that another thread has verified: %s', async (_, given, raw, expected) => {
    expect(await portOf(alice.address).submit(given, '::1')).toMatchObject({ code: 0 })
    expect(askedElsewhere).toEqual([raw])
    expect(calls).toEqual(expected)
  })

  it.each([
    ['EVM', evm(), ['recoverSender']],
    ['native', native, ['decodeAnyEncoding']],
  ] as const)('says itself why a signature is wrong: %s', async (_, raw, expected) => {
    const wrong = raw.slice()
    wrong[wrong.length - 1]! ^= 1
    await portOf('wrong').submit(wrong, '::1')
    expect(askedElsewhere).toEqual([wrong])
    expect(calls).toEqual(expected)
  })

  it('asks no other thread about what the operator’s limits refuse', async () => {
    const port = portOf(alice.address)
    const log = 'tx fee (21.00 ether) exceeds the configured cap (1.00 ether)'
    const tooDear = evm(10n ** 15n)
    for (const raw of [tooDear, Tx.encode(wrapEthereumTx(tooDear, alice.address))]) {
      expect(await port.submit(raw, '::1')).toMatchObject({ codespace: 'evm', code: 2, log })
    }
    expect([askedElsewhere, calls, pooled]).toEqual([[], [], []])
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
