import { encodeEthSecp256k1Signature, type OfflineAminoSigner, type StdSignDoc } from '@cosmjs/amino'
import { DirectEthSecp256k1Wallet } from '@cosmjs/proto-signing'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

interface Field {
  readonly name: string
  readonly type: string
}
type Types = Readonly<Record<string, readonly Field[]>>
interface TypedMessage {
  readonly types: Types
  readonly message: Readonly<Record<string, unknown>>
}

const strings = (...names: string[]): readonly Field[] => names.map((name) => ({ name, type: 'string' }))
const COIN = strings('denom', 'amount')
const DOMAIN_TYPE = [
  ...strings('name', 'version'),
  { name: 'chainId', type: 'uint256' },
  ...strings('verifyingContract', 'salt'),
]

/** Keplr's typed data of sends: messages in one array, of one type; the fee says who pays it. */
export function keplrSends(signDoc: StdSignDoc, address: string): TypedMessage {
  return {
    types: {
      Tx: [
        ...strings('account_number', 'chain_id'),
        { name: 'fee', type: 'Fee' },
        ...strings('memo'),
        { name: 'msgs', type: 'Msg[]' },
        ...strings('sequence'),
      ],
      Fee: [...strings('feePayer'), { name: 'amount', type: 'Coin[]' }, ...strings('gas')],
      Coin: COIN,
      Msg: [...strings('type'), { name: 'value', type: 'MsgValue' }],
      MsgValue: [...strings('from_address', 'to_address'), { name: 'amount', type: 'TypeAmount[]' }],
      TypeAmount: COIN,
    },
    message: { ...signDoc, fee: { ...signDoc.fee, feePayer: address } },
  }
}

/** The present encoding of a send and a delegation: a field and a type for each message. */
export function flatSendAndDelegate({ msgs: [send, delegate], ...signDoc }: StdSignDoc): TypedMessage {
  return {
    types: {
      Tx: [
        ...strings('account_number', 'chain_id'),
        { name: 'fee', type: 'Fee' },
        ...strings('memo', 'sequence'),
        { name: 'msg0', type: 'TypeMsgSend0' },
        { name: 'msg1', type: 'TypeMsgDelegate0' },
      ],
      Fee: [{ name: 'amount', type: 'Coin[]' }, ...strings('gas')],
      Coin: COIN,
      TypeMsgSend0: [{ name: 'value', type: 'TypeValue0' }, ...strings('type')],
      TypeValue0: [...strings('to_address', 'from_address'), { name: 'amount', type: 'TypeValueAmount0[]' }],
      TypeValueAmount0: COIN,
      TypeMsgDelegate0: [{ name: 'value', type: 'TypeValue1' }, ...strings('type')],
      TypeValue1: [...strings('validator_address', 'delegator_address'), { name: 'amount', type: 'TypeValueAmount0' }],
    },
    message: { ...signDoc, msg0: send, msg1: delegate },
  }
}

/** A wallet that shows typed data instead of the amino document, and signs it with viem as MetaMask does. */
export async function metaMaskSigner(
  privateKey: Hex,
  typed: (signDoc: StdSignDoc, address: string) => TypedMessage,
  chainId = 76_287,
): Promise<OfflineAminoSigner> {
  const wallet = await DirectEthSecp256k1Wallet.fromKey(Buffer.from(privateKey.slice(2), 'hex'), 'coin')
  const [account] = await wallet.getAccounts()
  const { signTypedData } = privateKeyToAccount(privateKey)
  return {
    getAccounts: async () => [account!],
    signAmino: async (_, signDoc) => {
      const { types, message } = typed(signDoc, account!.address)
      const domain = { name: 'Cosmos Web3', version: '1.0.0', chainId, verifyingContract: 'cosmos', salt: '0' }
      const data = { types: { EIP712Domain: DOMAIN_TYPE, ...types }, primaryType: 'Tx', domain, message }
      const signature = await signTypedData(data as unknown as Parameters<typeof signTypedData>[0])
      const bytes = Buffer.from(signature.slice(2), 'hex').subarray(0, 64)
      return { signed: signDoc, signature: encodeEthSecp256k1Signature(account!.pubkey, bytes) }
    },
  }
}
