import { Common, Hardfork, Mainnet } from '@ethereumjs/common'
import { createTxFromRLP } from '@ethereumjs/tx'
import fc from 'fast-check'
import { parseTransaction, recoverTransactionAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import {
  buildTransaction,
  decodeTransaction,
  encodeTransaction,
  type Transaction,
  type UnsignedTransaction,
} from '../../../../src/chain/block/transaction.ts'
import { recoverSender, signingHash } from '../../../../src/chain/block/transactionSender.ts'
import { evmCrypto } from '../../../../src/evm/engines/reference/evmCrypto.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { DecodingError, encodeRLP, type RLPInput } from '../../../../src/primitives/rlp.ts'
import { SECP256K1_ORDER } from '../../../../src/primitives/secp256k1.ts'
import { runs } from '../../../propertyRuns.ts'
import { signEvmTransaction, unsignedHash } from '../../../signEvmTransaction.ts'

const CHAIN_ID = 1n
const KEY = new Uint8Array(32).fill(7)
const SENDER = privateKeyToAccount(bytesToHex(KEY)).address
const common = new Common({ chain: Mainnet, hardfork: Hardfork.Prague, customCrypto: evmCrypto.custom })

// viem holds a nonce in a number
const u64 = fc.bigInt({ min: 0n, max: 2n ** 53n - 1n })
const u256 = fc.bigInt({ min: 0n, max: 2n ** 200n })
const bytesOf = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const accessList = fc.array(fc.record({ address: bytesOf(20), storageKeys: fc.array(bytesOf(32), { maxLength: 3 }) }), {
  maxLength: 3,
})
const authorizationList = fc.array(
  fc.record({
    chainId: u64,
    address: bytesOf(20),
    nonce: u64,
    yParity: fc.constantFrom(0n, 1n),
    r: fc.bigInt({ min: 1n, max: SECP256K1_ORDER / 2n }),
    s: fc.bigInt({ min: 1n, max: SECP256K1_ORDER / 2n }),
  }),
  { minLength: 1, maxLength: 3 },
)

/** Transactions of every type with all fields that the type has. */
const anyTransaction: fc.Arbitrary<UnsignedTransaction> = fc
  .record({
    type: fc.constantFrom(0 as const, 1 as const, 2 as const, 3 as const, 4 as const),
    isProtected: fc.boolean(),
    nonce: u64,
    gasLimit: fc.bigInt({ min: 21_000n, max: 2n ** 40n }),
    tip: fc.bigInt({ min: 0n, max: 2n ** 60n }),
    extraFee: fc.bigInt({ min: 0n, max: 2n ** 60n }),
    to: fc.option(bytesOf(20), { nil: undefined }),
    value: u256,
    data: fc.uint8Array({ maxLength: 300 }),
    accessList,
    authorizationList,
    blobHashes: fc.array(bytesOf(31), { minLength: 1, maxLength: 3 }),
  })
  .map(({ type, isProtected, tip, extraFee, to, blobHashes, ...fields }) =>
    buildTransaction({
      type,
      chainId: type === 0 && !isProtected ? undefined : CHAIN_ID,
      nonce: fields.nonce,
      gasLimit: fields.gasLimit,
      maxFeePerGas: type < 2 ? tip : tip + extraFee,
      maxPriorityFeePerGas: tip,
      to: type > 2 ? (to ?? new Uint8Array(20)) : to,
      value: fields.value,
      data: fields.data,
      accessList: type === 0 ? [] : fields.accessList,
      authorizationList: type === 4 ? fields.authorizationList : [],
      maxFeePerBlobGas: type === 3 ? extraFee : 0n,
      blobVersionedHashes: type === 3 ? blobHashes.map((hash) => Uint8Array.of(1, ...hash)) : [],
    }),
  )

describe('decodeTransaction', () => {
  it('gives back what was encoded', () => {
    fc.assert(
      fc.property(anyTransaction, (fields) => {
        const signed = signEvmTransaction(fields, KEY)
        expect(decodeTransaction(signed.raw)).toEqual(signed)
        expect(signed).toMatchObject(fields)
        expect(encodeTransaction(signed, signed)).toEqual(signed.raw)
        expect(signingHash(signed)).toEqual(unsignedHash(fields))
      }),
      { numRuns: runs(60) },
    )
  })

  it('agrees with @ethereumjs/tx', () => {
    fc.assert(
      fc.property(anyTransaction, (fields) => {
        const signed = signEvmTransaction(fields, KEY)
        const theirs = createTxFromRLP(signed.raw, { common })
        expect(bytesToHex(theirs.hash())).toBe(bytesToHex(signed.hash))
        expect(theirs.getSenderAddress().toString()).toBe(SENDER.toLowerCase())
        expect(theirs).toMatchObject({ nonce: signed.nonce, gasLimit: signed.gasLimit, value: signed.value })
        expect(theirs.data).toEqual(signed.data)
      }),
      { numRuns: runs(20) },
    )
  })

  it('agrees with viem', async () => {
    await fc.assert(
      fc.asyncProperty(anyTransaction, async (fields) => {
        const signed = signEvmTransaction(fields, KEY)
        const serialized = bytesToHex(signed.raw) as Parameters<typeof parseTransaction>[0]
        const theirs = parseTransaction(serialized)
        expect(theirs.nonce ?? 0).toBe(Number(signed.nonce))
        expect(theirs.value ?? 0n).toBe(signed.value)
        expect(theirs.to ?? undefined).toBe(signed.to && bytesToHex(signed.to))
        expect(theirs.data ?? '0x').toBe(bytesToHex(signed.data))
        const signer = await recoverTransactionAddress({
          serializedTransaction: serialized as Parameters<typeof recoverTransactionAddress>[0]['serializedTransaction'],
        })
        expect(signer).toBe(SENDER)
      }),
      { numRuns: runs(20) },
    )
  })

  it('never accepts two encodings of one transaction', () => {
    fc.assert(
      fc.property(anyTransaction, fc.nat(), fc.integer({ min: 1, max: 255 }), (fields, at, flip) => {
        const { raw } = signEvmTransaction(fields, KEY)
        const changed = raw.slice()
        changed[at % raw.length]! ^= flip
        let other: Transaction
        try {
          other = decodeTransaction(changed)
        } catch {
          return
        }
        expect(encodeTransaction(other, other)).toEqual(changed)
      }),
      { numRuns: runs(200) },
    )
  })

  const address = new Uint8Array(20).fill(1)
  const legacy: RLPInput[] = [0n, 1n, 21_000n, address, 0n, new Uint8Array(0), 27n, 1n, 1n]
  const dynamic: RLPInput[] = [1n, 0n, 1n, 1n, 21_000n, address, 0n, new Uint8Array(0), [], 0n, 1n, 1n]
  const setCode: RLPInput[] = [...dynamic.slice(0, 9), [[1n, address, 0n, 0n, 1n, 1n]], 0n, 1n, 1n]
  const withItem = (items: RLPInput[], index: number, item: RLPInput) => items.with(index, item)
  const typed = (type: number, items: RLPInput[]) => Uint8Array.of(type, ...encodeRLP(items))

  it.each<[string, Uint8Array, string]>([
    ['nothing', new Uint8Array(0), 'typed transaction too short'],
    ['a type alone', Uint8Array.of(2), 'typed transaction too short'],
    ['type 0', Uint8Array.of(0, 0xc0), 'transaction type not supported'],
    ['type 5', Uint8Array.of(5, 0xc0), 'transaction type not supported'],
    ['type 0x7f', Uint8Array.of(0x7f, 0xc0), 'transaction type not supported'],
    ['a string', hexToBytes('0x83010203'), 'rlp: expected input list for types.LegacyTx'],
    ['too few fields', encodeRLP(legacy.slice(0, 8)), 'rlp: too few elements for types.LegacyTx'],
    ['too many fields', encodeRLP([...legacy, 1n]), 'rlp: input list has too many elements for types.LegacyTx'],
    ['bytes behind', Uint8Array.of(...encodeRLP(legacy), 0), 'rlp: input contains more than one value'],
    [
      'a nonce of 65 bits',
      encodeRLP(withItem(legacy, 0, 2n ** 64n)),
      'rlp: input string too long for uint64, decoding into (types.LegacyTx).Nonce',
    ],
    [
      'a gas price with a leading zero',
      encodeRLP(withItem(legacy, 1, Uint8Array.of(0, 1))),
      'rlp: non-canonical integer (leading zero bytes) for *big.Int, decoding into (types.LegacyTx).GasPrice',
    ],
    [
      'a short recipient',
      encodeRLP(withItem(legacy, 3, address.subarray(1))),
      'rlp: input string too short for *common.Address, decoding into (types.LegacyTx).To',
    ],
    [
      'an empty list as recipient',
      encodeRLP(withItem(legacy, 3, [])),
      'rlp: wrong kind of empty value (got List, want String) for *common.Address, decoding into (types.LegacyTx).To',
    ],
    ['a value of 257 bits', encodeRLP(withItem(legacy, 4, 2n ** 256n)), 'rlp: value too large for uint256'],
    ['v of 29', encodeRLP(withItem(legacy, 6, 29n)), 'invalid sender: invalid transaction v, r, s values'],
    ['parity 2', typed(2, withItem(dynamic, 9, 2n)), 'invalid sender: invalid transaction v, r, s values'],
    [
      'data that is a list',
      typed(2, withItem(dynamic, 7, [])),
      'rlp: expected input string or byte for []uint8, decoding into (types.DynamicFeeTx).Data',
    ],
    [
      'a long address in an access list',
      typed(2, withItem(dynamic, 8, [[new Uint8Array(21), []]])),
      'rlp: input string too long for common.Address, decoding into (types.DynamicFeeTx).AccessList[0].Address',
    ],
    [
      'a short storage key',
      typed(
        2,
        withItem(dynamic, 8, [
          [address, []],
          [address, [new Uint8Array(32), new Uint8Array(3)]],
        ]),
      ),
      'rlp: input string too short for common.Hash, decoding into (types.DynamicFeeTx).AccessList[1].StorageKeys[1]',
    ],
    [
      'half an access tuple',
      typed(2, withItem(dynamic, 8, [[address]])),
      'rlp: too few elements for types.AccessTuple, decoding into (types.DynamicFeeTx).AccessList[0]',
    ],
    [
      'a creation by set-code transaction',
      typed(4, withItem(setCode, 5, new Uint8Array(0))),
      'rlp: input string too short for common.Address, decoding into (types.SetCodeTx).To',
    ],
    [
      'an authorization with a v of two bytes',
      typed(4, withItem(setCode, 9, [[1n, address, 0n, 256n, 1n, 1n]])),
      'rlp: input string too long for uint8, decoding into (types.SetCodeTx).AuthList[0].V',
    ],
  ])('refuses %s', (_name, raw, message) => {
    expect(() => decodeTransaction(raw)).toThrow(new DecodingError(message))
  })
})

describe('recoverSender', () => {
  const fields = buildTransaction({ type: 2, chainId: CHAIN_ID, gasLimit: 21_000n })
  const rules = { chainId: CHAIN_ID, allowUnprotected: false }

  it('refuses another chain', () => {
    expect(recoverSender(signEvmTransaction(fields, KEY), { ...rules, chainId: 7628n })).toEqual({
      reason: 'invalid sender: invalid chain id for signer: have 1 want 7628',
    })
  })

  it('takes an unprotected transaction only where that is allowed', () => {
    const unprotected = signEvmTransaction(buildTransaction({ type: 0, gasLimit: 21_000n }), KEY)
    expect(unprotected.chainId).toBeUndefined()
    expect(recoverSender(unprotected, rules)).toEqual({
      reason: 'only replay-protected (EIP-155) transactions allowed over RPC',
    })
    expect(recoverSender(unprotected, { ...rules, allowUnprotected: true })).toEqual({ sender: hexToBytes(SENDER) })
  })

  it('refuses a high s and an r or s of 0', () => {
    const { v, r, s } = signEvmTransaction(fields, KEY)
    for (const wrong of [
      { v: 1n - v, r, s: SECP256K1_ORDER - s },
      { v, r: 0n, s },
      { v, r, s: 0n },
      { v, r: SECP256K1_ORDER, s },
    ]) {
      expect(recoverSender(decodeTransaction(encodeTransaction(fields, wrong)), rules)).toEqual({
        reason: 'invalid sender: invalid transaction v, r, s values',
      })
    }
  })

  it('refuses an r that belongs to no key', () => {
    const transaction = decodeTransaction(encodeTransaction(fields, { v: 0n, r: 5n, s: 1n }))
    expect(recoverSender(transaction, rules)).toEqual({ reason: 'invalid sender: recovery failed' })
  })
})
