import { Tx as TheirTx } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeTransaction } from '../../../../src/chain/block/transaction.ts'
import { Tx } from '../../../../src/modules/tx/types.ts'
import {
  ExtensionOptionsEthereumTx,
  MsgEthereumTx,
  unwrapEthereumTx,
  wrapEthereumTx,
} from '../../../../src/rpc/cosmos/ethereumTx.ts'
import { runs } from '../../../propertyRuns.ts'
import { sendMessage, signed } from '../../../support/rpc/cosmos/nativeHistory.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'

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
    const expected = { transaction: decodeTransaction(transaction.raw), from: sender }
    expect(unwrapEthereumTx(wrapped)).toEqual(expected)
    expect(unwrapEthereumTx(TheirTx.encode(TheirTx.decode(wrapped)).finish())).toEqual(expected)
  })

  test('anything without a MsgEthereumTx is something else', () => {
    const native = signed(0, [sendMessage(1n)], MsgEthereumTx.typeUrl)
    for (const raw of [new Uint8Array(0), transaction.raw, native]) expect(unwrapEthereumTx(raw)).toBeUndefined()
  })

  // The codes and the texts of cosmos/evm: ante/ante.go, ante/cosmos/reject_msgs.go, ante/evm/04_validate.go, x/vm/types/msg.go.
  const value = wrapEthereumTx(transaction.raw, sender)
  const body = value.body!
  const authInfo = value.authInfo!
  const fee = authInfo.fee!
  const message = body.messages[0]!
  const option = body.extensionOptions[0]!
  const messageOf = (fields: Parameters<typeof MsgEthereumTx.encode>[0]) => ({
    ...message,
    value: MsgEthereumTx.encode(fields),
  })
  const nothing = new Uint8Array(0)
  const signerInfo = { publicKey: undefined, modeInfo: undefined, sequence: 0n }
  test.each<[name: string, change: Partial<typeof value>, code: number, text: RegExp]>([
    ['no option', { body: { ...body, extensionOptions: [] } }, 29, /ExtensionOptionsEthereumTx/],
    ['two messages', { body: { ...body, messages: [message, message] } }, 18, /expected 1 message, got 2/],
    ['another option', { body: { ...body, extensionOptions: [option, option] } }, 18, /length of ExtensionOptions/],
    ['an option that may be ignored', { body: { ...body, nonCriticalExtensionOptions: [option] } }, 18, /NonCritical/],
    ['a memo', { body: { ...body, memo: 'hello' } }, 18, /Memo TimeoutHeight/],
    ['a timeout', { body: { ...body, timeoutHeight: 9n } }, 18, /Memo TimeoutHeight/],
    ['no message bytes', { body: { ...body, messages: [{ ...message, value: nothing }] } }, 18, /raw transaction/],
    ['no sender', { body: { ...body, messages: [messageOf({ from: nothing, raw: transaction.raw })] } }, 18, /sender/],
    [
      'a message that does not decode',
      { body: { ...body, messages: [{ ...message, value: Uint8Array.of(255) }] } },
      2,
      /./,
    ],
    ['no RLP', { body: { ...body, messages: [messageOf({ from: sender, raw: Uint8Array.of(2, 1) })] } }, 2, /./],
    ['a signer', { authInfo: { ...authInfo, signerInfos: [signerInfo] } }, 18, /SignerInfos should be empty/],
    [
      'no fee',
      { authInfo: { ...authInfo, fee: undefined, tip: { amount: [], tipper: 'x' } } },
      18,
      /Fee should not be nil/,
    ],
    ['a payer', { authInfo: { ...authInfo, fee: { ...fee, payer: 'coin1' } } }, 18, /payer and granter/],
    ['a granter', { authInfo: { ...authInfo, fee: { ...fee, granter: 'coin1' } } }, 18, /payer and granter/],
    ['a tip', { authInfo: { ...authInfo, tip: { amount: [], tipper: '' } } }, 18, /Tip must be nil/],
    ['another gas limit', { authInfo: { ...authInfo, fee: { ...fee, gasLimit: 1n } } }, 18, /GasLimit \(1 != 21000\)/],
    ['no amount', { authInfo: { ...authInfo, fee: { ...fee, amount: [] } } }, 18, /invalid AuthInfo Fee Amount/],
    ['a signature', { signatures: [nothing] }, 18, /Signatures should be empty/],
  ])('is refused with %s around it', (_, change, code, text) => {
    const refused = unwrapEthereumTx(Tx.encode({ ...value, ...change }))
    expect(refused).toMatchObject({ codespace: 'sdk', code, message: expect.stringMatching(text) })
  })

  test('is refused in an encoding that ADR-027 does not allow', () => {
    const twice = Buffer.concat([wrapped, wrapped.subarray(0, wrapped.indexOf(0x12, wrapped[1]! + 2))])
    expect(unwrapEthereumTx(twice)).toMatchObject({ codespace: 'sdk', code: 2 })
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
