import { ANY_TYPES } from '../../modules/anyTypes.ts'
import { MESSAGES } from '../../modules/messages.ts'
import {
  Ed25519PubKey,
  EthSecp256k1PubKey,
  FOREIGN_ETH_SECP256K1_PUB_KEYS,
  LegacyAminoPubKey,
  Secp256k1PubKey,
} from '../../modules/tx/publicKey.ts'
import { ExtensionOptionDynamicFeeTx, Tx } from '../../modules/tx/txTypes.ts'
import type { AnyMessageType, JsonContext } from '../../primitives/protoScalars.ts'
import { BaseAccount, ModuleAccount } from './messages/accounts.ts'
import { Equivocation } from './messages/equivocation.ts'
import { ExtensionOptionsEthereumTx, MsgEthereumTx } from './messages/txMessages.ts'

const OTHER_TYPES: readonly AnyMessageType[] = [
  ...[...ANY_TYPES.values()].map(({ type }) => type),
  BaseAccount,
  ModuleAccount,
  Equivocation,
  Tx,
  MsgEthereumTx,
  ExtensionOptionsEthereumTx,
  ExtensionOptionDynamicFeeTx,
  Ed25519PubKey,
  LegacyAminoPubKey,
  Secp256k1PubKey,
  EthSecp256k1PubKey,
  ...FOREIGN_ETH_SECP256K1_PUB_KEYS,
]

let byUrl: ReadonlyMap<string, AnyMessageType> | undefined

/** Made when it is first asked for: messages of some modules know the table of all. */
function types(): ReadonlyMap<string, AnyMessageType> {
  byUrl ??= new Map(
    [...MESSAGES.values()]
      .flatMap(({ type, response }): AnyMessageType[] => [type, response])
      .concat(OTHER_TYPES)
      .map((type) => [type.typeUrl, type]),
  )
  return byUrl
}

/** What may stand behind an Any in answers and requests: messages, keys, accounts, contents of proposals, authorizations. */
export const JSON_TYPES_OF_ANY: JsonContext = { typeOf: (typeUrl) => types().get(typeUrl) }
