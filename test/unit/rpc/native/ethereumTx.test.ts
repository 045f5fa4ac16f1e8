import { Tx as TheirTx } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Tx } from '../../../../src/modules/tx/types.ts'
import {
  ExtensionOptionsEthereumTx,
  MsgEthereumTx,
  unwrapEthereumTx,
  wrapEthereumTx,
} from '../../../../src/rpc/native/ethereumTx.ts'
import { runs } from '../../../propertyRuns.ts'
import { testAccount } from '../testAccount.ts'
import { sendMessage, signed } from './nativeHistory.ts'

const { transaction, sender } = testAccount('alice').sign({ nonce: 3n, gasLimit: 21_000n })
const wrapped = Tx.encode(wrapEthereumTx(transaction.raw, sender))

describe('an EVM transaction for Cosmos clients', () => {
  test('is a native one, as the SDK’s own types decode it', () => {
    const { body, authInfo } = TheirTx.decode(wrapped)
    expect(body?.messages.map(({ typeUrl }) => typeUrl)).toEqual([MsgEthereumTx.typeUrl])
    expect(body?.extensionOptions.map(({ typeUrl }) => typeUrl)).toEqual([ExtensionOptionsEthereumTx.typeUrl])
    expect(authInfo?.fee?.gasLimit).toBe(21_000n)
    expect(MsgEthereumTx.decode(body!.messages[0]!.value)).toEqual({ from: sender, raw: transaction.raw })
  })

  test('is the EVM transaction again where a client sends it', () => {
    expect(unwrapEthereumTx(wrapped)).toEqual(transaction.raw)
    expect(unwrapEthereumTx(TheirTx.encode(TheirTx.decode(wrapped)).finish())).toEqual(transaction.raw)
  })

  test('anything else stays as it is', () => {
    const native = signed(0, [sendMessage(1n)], MsgEthereumTx.typeUrl)
    const value = wrapEthereumTx(transaction.raw, sender)
    const message = value.body!.messages[0]!
    const others = [
      new Uint8Array(0),
      transaction.raw,
      native,
      Tx.encode({ ...value, body: { ...value.body!, extensionOptions: [] } }),
      Tx.encode({ ...value, body: { ...value.body!, messages: [message, message] } }),
      Tx.encode({ ...value, body: { ...value.body!, messages: [{ ...message, value: new Uint8Array(0) }] } }),
      Tx.encode({ ...value, body: { ...value.body!, messages: [{ ...message, value: Uint8Array.of(0xff) }] } }),
    ]
    for (const raw of others) expect(unwrapEthereumTx(raw)).toBe(raw)
  })

  test('never throws for bytes that are cut or changed', () => {
    fc.assert(
      fc.property(fc.nat(wrapped.length - 1), fc.nat(255), (at, byte) => {
        const changed = wrapped.slice()
        changed[at] = byte
        unwrapEthereumTx(changed)
        unwrapEthereumTx(wrapped.subarray(0, at))
      }),
      { numRuns: runs(500) },
    )
  })
})
