import {
  bool,
  bytes,
  defineMessage,
  embedded,
  enumeration,
  int64,
  message,
  optionalInteger,
  repeated,
  string,
  uint64,
} from '../../../primitives/protoSchema.ts'

/** cosmos.evm.vm.v1 of cosmos/evm */

const ACCESS_TYPES = {
  ACCESS_TYPE_PERMISSIONLESS: 0,
  ACCESS_TYPE_RESTRICTED: 1,
  ACCESS_TYPE_PERMISSIONED: 2,
} as const

const AccessControlType = defineMessage('cosmos.evm.vm.v1.AccessControlType', {
  accessType: enumeration(1, ACCESS_TYPES),
  accessControlList: repeated(string(2)),
})
const AccessControl = defineMessage('cosmos.evm.vm.v1.AccessControl', {
  create: embedded(1, AccessControlType),
  call: embedded(2, AccessControlType),
})
const ExtendedDenomOptions = defineMessage('cosmos.evm.vm.v1.ExtendedDenomOptions', { extendedDenom: string(1) })

export const VmParams = defineMessage('cosmos.evm.vm.v1.Params', {
  evmDenom: string(1),
  extraEips: repeated(int64(4)),
  evmChannels: repeated(string(7)),
  accessControl: embedded(8, AccessControl),
  activeStaticPrecompiles: repeated(string(9)),
  historyServeWindow: uint64(10),
  extendedDenomOptions: message(11, ExtendedDenomOptions),
})

export const ChainConfig = defineMessage('cosmos.evm.vm.v1.ChainConfig', {
  homesteadBlock: optionalInteger(1),
  daoForkBlock: optionalInteger(2),
  daoForkSupport: bool(3),
  eip150Block: optionalInteger(4),
  eip155Block: optionalInteger(6),
  eip158Block: optionalInteger(7),
  byzantiumBlock: optionalInteger(8),
  constantinopleBlock: optionalInteger(9),
  petersburgBlock: optionalInteger(10),
  istanbulBlock: optionalInteger(11),
  muirGlacierBlock: optionalInteger(12),
  berlinBlock: optionalInteger(13),
  londonBlock: optionalInteger(17),
  arrowGlacierBlock: optionalInteger(18),
  grayGlacierBlock: optionalInteger(20),
  mergeNetsplitBlock: optionalInteger(21),
  chainId: uint64(24),
  denom: string(25),
  decimals: uint64(26),
  shanghaiTime: optionalInteger(27),
  cancunTime: optionalInteger(28),
  pragueTime: optionalInteger(29),
  verkleTime: optionalInteger(30),
  osakaTime: optionalInteger(31),
})

export const Log = defineMessage('cosmos.evm.vm.v1.Log', {
  address: string(1),
  topics: repeated(string(2)),
  data: bytes(3),
  blockNumber: uint64(4),
  txHash: string(5),
  txIndex: uint64(6),
  blockHash: string(7),
  index: uint64(8),
  removed: bool(9),
  blockTimestamp: uint64(10),
})
