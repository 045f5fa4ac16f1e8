import { bool, defineMessage, enumeration, string, type ValueOf } from '../../primitives/protoSchema.ts'

/** cosmos.evm.erc20.v1 */

export const OWNERS = { OWNER_UNSPECIFIED: 0, OWNER_MODULE: 1, OWNER_EXTERNAL: 2 } as const

/** A coin with its ERC-20 face. */
export const TokenPair = defineMessage('cosmos.evm.erc20.v1.TokenPair', {
  erc20Address: string(1),
  denom: string(2),
  enabled: bool(3),
  contractOwner: enumeration(4, OWNERS),
})
export type TokenPair = ValueOf<typeof TokenPair>

export const Erc20Params = defineMessage('cosmos.evm.erc20.v1.Params', {
  enableErc20: bool(1),
  permissionlessRegistration: bool(5),
})
export type Erc20Params = ValueOf<typeof Erc20Params>
