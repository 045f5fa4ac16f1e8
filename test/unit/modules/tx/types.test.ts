import * as abci from 'cosmjs-types/cosmos/base/abci/v1beta1/abci'
import * as ed25519 from 'cosmjs-types/cosmos/crypto/ed25519/keys'
import * as multisigKeys from 'cosmjs-types/cosmos/crypto/multisig/keys'
import * as multisig from 'cosmjs-types/cosmos/crypto/multisig/v1beta1/multisig'
import * as secp256k1 from 'cosmjs-types/cosmos/crypto/secp256k1/keys'
import * as signing from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import * as theirs from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Ed25519PubKey, LegacyAminoPubKey, Secp256k1PubKey } from '../../../../src/modules/tx/publicKey.ts'
import * as ours from '../../../../src/modules/tx/types.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { coin, count, expectSameWire, text, wireCase } from '../../../support/modules/wireCases.ts'

const bytes = fc.uint8Array({ minLength: 1, maxLength: 40 })
const any = fc.record({ typeUrl: text, value: bytes })
const fee = fc.record({ amount: fc.array(coin), gasLimit: count, payer: text, granter: text })
const bitarray = fc.record({ extraBitsStored: fc.integer({ min: 1, max: 7 }), elems: bytes })

const { modeInfo } = fc.letrec<{ modeInfo: ours.ModeInfo }>((tie) => ({
  modeInfo: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ single: fc.record({ mode: fc.integer({ min: 1, max: 200 }) }), multi: fc.constant(undefined) }),
    fc.record({
      single: fc.constant(undefined),
      multi: fc.record({ bitarray: fc.option(bitarray, { nil: undefined }), modeInfos: fc.array(tie('modeInfo')) }),
    }),
  ),
}))
const signerInfo = fc.record({ publicKey: any, modeInfo, sequence: count })
const authInfo = fc.record({
  signerInfos: fc.array(signerInfo),
  fee,
  tip: fc.record({ amount: fc.array(coin), tipper: text }),
})
const body = fc.record({
  messages: fc.array(any),
  memo: text,
  timeoutHeight: count,
  extensionOptions: fc.array(any),
  nonCriticalExtensionOptions: fc.array(any),
})
const raw = fc.record({ bodyBytes: bytes, authInfoBytes: bytes, signatures: fc.array(fc.uint8Array()) })

const CASES = [
  wireCase(ours.TxRaw, theirs.TxRaw, raw),
  wireCase(ours.TxBody, theirs.TxBody, body),
  wireCase(ours.AuthInfo, theirs.AuthInfo, authInfo),
  wireCase(ours.Tx, theirs.Tx, fc.record({ body, authInfo, signatures: fc.array(fc.uint8Array()) })),
  wireCase(
    ours.SignDoc,
    theirs.SignDoc,
    fc.record({ bodyBytes: bytes, authInfoBytes: bytes, chainId: text, accountNumber: count }),
  ),
  wireCase(ours.MultiSignature, multisig.MultiSignature, fc.record({ signatures: fc.array(fc.uint8Array()) })),
  wireCase(ours.MsgData, abci.MsgData, fc.record({ msgType: text, data: bytes })),
  wireCase(
    ours.TxMsgData,
    abci.TxMsgData,
    fc.record({ data: fc.array(fc.record({ msgType: text, data: bytes })), msgResponses: fc.array(any) }),
  ),
  wireCase(Secp256k1PubKey, secp256k1.PubKey, fc.record({ key: bytes })),
  wireCase(Ed25519PubKey, ed25519.PubKey, fc.record({ key: bytes })),
  wireCase(
    LegacyAminoPubKey,
    multisigKeys.LegacyAminoPubKey,
    fc.record({ threshold: fc.integer({ min: 1, max: 100 }), publicKeys: fc.array(any) }),
  ),
]

describe('messages of cosmos.tx', () => {
  it.each(CASES.map((given) => [given.ours.name, given] as const))(
    '%s is written as cosmjs-types writes it',
    (_, given) => {
      expectSameWire(given)
    },
  )

  it('sign modes have the numbers of the SDK', () => {
    const numbers = Object.values(signing.SignMode).filter((value) => typeof value === 'number' && value >= 0)
    expect(Object.values(ours.SIGN_MODES).toSorted((a, b) => a - b)).toEqual(
      numbers.toSorted((a, b) => Number(a) - Number(b)),
    )
  })

  it('the extension option of a dynamic fee is the digits of a decimal in field 1', () => {
    const encoded = ours.ExtensionOptionDynamicFeeTx.encode({ maxPriorityPrice: 15n * 10n ** 17n })
    expect(bytesToHex(encoded)).toBe(`0x0a13${Buffer.from('1500000000000000000').toString('hex')}`)
    expect(ours.ExtensionOptionDynamicFeeTx.typeUrl).toBe('/cosmos.evm.ante.v1.ExtensionOptionDynamicFeeTx')
  })
})
