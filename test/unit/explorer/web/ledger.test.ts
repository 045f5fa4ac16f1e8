import type { StdSignDoc } from '@cosmjs/amino'
import { Registry } from '@cosmjs/proto-signing'
import { AminoTypes, createDefaultAminoConverters, defaultRegistryTypes, SigningStargateClient } from '@cosmjs/stargate'
import { TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { describe, expect, it } from 'vitest'
import type { Action } from '../../../../explorer/web/src/wallet/action.ts'
import { ledgerSigner } from '../../../../explorer/web/src/wallet/keplrWallet.ts'
import { GOV_AMINO, nativeMessages } from '../../../../explorer/web/src/wallet/nativeMessages.ts'
import { publicKeyToAny } from '../../../../src/modules/tx/publicKey.ts'
import { keyOf } from '../../../../src/modules/tx/signTransaction.ts'
import { createTransactionDecoder } from '../../../../src/modules/tx/transactionDecoder.ts'
import { signAsKeplrLedger } from '../../../native/keplrLedger.ts'
import { TEST_CHAIN, testAccount } from '../../../native/signTransaction.ts'

/* What a Ledger in Keplr signs for the pages is a transaction that the node accepts. */

const [alice, bob] = [testAccount(1), testAccount(2)]
const to = { address: '0x00000000000000000000000000000000000000AA', bech32: bob.bech32 }
const proposal = { title: 'Title', summary: 'Why', metadata: 'ipfs://a', isExpedited: false, messages: [] }
const divided = [
  { option: 'yes', weight: '0.7' },
  { option: 'abstain', weight: '0.3' },
] as const

const ACTIONS: readonly Action[] = [
  { kind: 'send', to, amount: 7n },
  { kind: 'delegate', validator: bob.operator, amount: 5n },
  { kind: 'undelegate', validator: bob.operator, amount: 5n },
  { kind: 'redelegate', from: alice.operator, to: bob.operator, amount: 5n },
  { kind: 'cancelUnbonding', validator: bob.operator, amount: 5n, height: 77 },
  { kind: 'claim', validators: [bob.operator] },
  { kind: 'claim', validators: [alice.operator, bob.operator] },
  { kind: 'vote', proposal: 3, options: [{ option: 'noWithVeto', weight: '1' }] },
  { kind: 'vote', proposal: 3, options: divided },
  { kind: 'deposit', proposal: 3, amount: 9n },
  { kind: 'propose', proposal, deposit: 9n },
  { kind: 'propose', proposal: { ...proposal, isExpedited: true }, deposit: 9n },
]

const { chainId, evmChainId } = TEST_CHAIN
const chain = { id: chainId, evmId: Number(evmChainId) }
const key = { bech32Address: alice.bech32, pubKey: keyOf(alice).key, isNanoLedger: true }

async function sign(action: Action, change: (document: StdSignDoc) => StdSignDoc = (document) => document) {
  const documents: StdSignDoc[] = []
  const signer = ledgerSigner(
    {
      experimentalSignEIP712CosmosTx_v0: async (_chain, _signer, typedData, document) => {
        documents.push(document)
        return signAsKeplrLedger(alice.privateKey, typedData, change(document))
      },
    },
    key,
    chain,
  )
  const client = await SigningStargateClient.offline(signer, {
    registry: new Registry(defaultRegistryTypes),
    aminoTypes: new AminoTypes({ ...createDefaultAminoConverters(), ...GOV_AMINO }),
  })
  const fee = { amount: [{ denom: 'acoin', amount: '1000000' }], gas: '200000' }
  const account = { accountNumber: 0n, sequence: 3, chainId }
  const signed = await client.sign(alice.bech32, nativeMessages(action, alice.bech32), fee, '', account)
  return { raw: TxRaw.encode(signed).finish(), documents }
}

describe('a Ledger in Keplr', () => {
  it.each(ACTIONS)('signs %o as the node reads it', async (action) => {
    const { raw, documents } = await sign(action)
    expect(createTransactionDecoder(TEST_CHAIN).decodeNative(raw)).toMatchObject({
      sender: alice.address,
      signers: [{ publicKey: publicKeyToAny(keyOf(alice)) }],
    })
    expect(documents).toMatchObject([{ fee: { feePayer: alice.bech32 } }])
  })

  it('may have its owner change the fee', async () => {
    const { raw } = await sign(ACTIONS[0]!, (document) => ({
      ...document,
      fee: { ...document.fee, gas: '300000' },
    }))
    expect(createTransactionDecoder(TEST_CHAIN).decodeNative(raw)).toMatchObject({ sender: alice.address })
  })

  it('signs nothing with a wallet that cannot, nor what has no typed data', async () => {
    const signer = ledgerSigner({}, key, chain)
    const document = { msgs: [] } as unknown as StdSignDoc
    await expect(signer.signAmino(alice.bech32, document)).rejects.toThrow('cannot sign with a Ledger')
    const able = ledgerSigner(
      { experimentalSignEIP712CosmosTx_v0: () => Promise.reject(new Error('asked')) },
      key,
      chain,
    )
    const other = { type: 'cosmos-sdk/MsgMultiSend', value: {} }
    for (const msgs of [[], [other], [{ type: 'cosmos-sdk/MsgSend', value: {} }, other]]) {
      const asked = able.signAmino(alice.bech32, { ...document, msgs, fee: { amount: [], gas: '1' } })
      await expect(asked).rejects.toThrow('A Ledger cannot sign these messages')
    }
  })
})
