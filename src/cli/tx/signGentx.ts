import type { Genesis } from '../../chain/genesis/genesisSchema.ts'
import { ConfigError } from '../../config/configError.ts'
import { MESSAGES } from '../../modules/messageTable.ts'
import { Tx, TxBody } from '../../modules/tx/types.ts'
import { toBech32 } from '../../primitives/address.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import { JSON_TYPES_OF_ANY } from '../../rpc/cosmos/anyTypes.ts'
import type { Signer } from '../keys/signer.ts'
import { makeSignature, withSignature } from './signTx.ts'
import type { MessageJson } from './txCommand.ts'

/** A genesis transaction that an operator is to sign. */
interface UnsignedGentx {
  /** a draft, in which the operator has an account */
  readonly genesis: Genesis
  /** MsgCreateValidator */
  readonly message: MessageJson
  readonly signer: Signer
  /** `<node ID>@<host>:<port>` */
  readonly memo: string
  readonly gasLimit: bigint
}

/**
 * Signs a genesis transaction. @returns the SDK's JSON of a Tx
 * @throws ConfigError when the account does not have the coins
 */
export async function signGentx({ genesis, message, signer, memo, gasLimit }: UnsignedGentx): Promise<Json> {
  const { '@type': typeUrl, ...fields } = message
  const { address } = signer.key
  const account = toBech32(address)
  const held = genesis.app_state.bank.balances.find((balance) => balance.address === account)?.coins[0]
  if (held === undefined) throw new ConfigError(`account ${account} does not have a balance in the genesis state`)
  const { amount } = fields['value'] as { readonly amount: string }
  if (BigInt(held.amount) < BigInt(amount)) {
    const available = `it only has ${held.amount}acoin available to stake, not ${amount}acoin`
    throw new ConfigError(`account ${account} has a balance in genesis, but ${available}`)
  }
  const { type } = MESSAGES.get(typeUrl)!
  const value = type.encode(type.fromJson(fields, JSON_TYPES_OF_ANY) as never)
  const fee = { amount: [], gasLimit, payer: '', granter: '' }
  const tx: Tx = {
    body: TxBody.create({ messages: [{ typeUrl, value }], memo }),
    authInfo: { signerInfos: [], fee, tip: undefined },
    signatures: [],
  }
  const signature = await makeSignature(tx, address, signer, { chainId: genesis.chain_id, sequence: 0n })
  return Tx.toJson(withSignature(tx, address, signature), JSON_TYPES_OF_ANY)
}
