import { BaseAccount, ModuleAccount } from '../../modules/auth/types.ts'
import { Equivocation } from '../../modules/evidence/types.ts'
import { ANY_TYPES, MESSAGES } from '../../modules/messageTable.ts'
import { ACCOUNT_KEY_TYPES, Ed25519PubKey } from '../../modules/tx/publicKey.ts'
import { ExtensionOptionDynamicFeeTx, Tx } from '../../modules/tx/types.ts'
import { VESTING_ACCOUNT_TYPES } from '../../modules/vesting/types.ts'
import type { AnyMessageType, JsonContext } from '../../primitives/protoScalars.ts'
import { ExtensionOptionsEthereumTx, MsgEthereumTx, MsgEthereumTxResponse } from './ethereumTx.ts'

const OTHER_TYPES: readonly AnyMessageType[] = [
  ...[...ANY_TYPES.values()].map(({ type }) => type),
  BaseAccount,
  ModuleAccount,
  ...VESTING_ACCOUNT_TYPES,
  Equivocation,
  Tx,
  MsgEthereumTx,
  MsgEthereumTxResponse,
  ExtensionOptionsEthereumTx,
  ExtensionOptionDynamicFeeTx,
  Ed25519PubKey,
  ...ACCOUNT_KEY_TYPES,
]

let byUrl: ReadonlyMap<string, AnyMessageType> | undefined

/** Made on first use: messages of some modules import the table of all. */
function types(): ReadonlyMap<string, AnyMessageType> {
  byUrl ??= new Map(
    [...MESSAGES.values()]
      .flatMap(({ type, response }): AnyMessageType[] => [type, response])
      .concat(OTHER_TYPES)
      .map((type) => [type.typeUrl, type]),
  )
  return byUrl
}

/** All of them. */
export function typesOfAny(): readonly AnyMessageType[] {
  return [...types().values()]
}

/** The types that an Any may hold in answers and requests: messages, keys, accounts, contents of proposals, authorizations. */
export const JSON_TYPES_OF_ANY: JsonContext = { typeOf: (typeUrl) => types().get(typeUrl) }
