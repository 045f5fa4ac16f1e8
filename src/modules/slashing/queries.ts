import { BECH32_CONSENSUS, toBech32 } from '../../primitives/address.ts'
import type { ReadContext } from '../context.ts'
import { missedCount } from './missedBlocks.ts'
import { SLASHING_PARAMS } from './params.ts'
import { getSigningRecord, type SigningRecord, type SigningWalk, signingRecords, windowIndex } from './signingInfo.ts'
import type { ValidatorSigningInfo } from './types.ts'

/** A validator's signing info in the SDK's form; undefined when it was never bonded. */
export function signingInfo(context: ReadContext, consensusAddress: Uint8Array): ValidatorSigningInfo | undefined {
  const record = getSigningRecord(context.world.native, consensusAddress)
  return record && infoOf(context, consensusAddress, record)
}

/** All of them in order of consensus addresses. */
export function* signingInfos(
  context: ReadContext,
  walk: SigningWalk = {},
): IterableIterator<readonly [consensusAddress: Uint8Array, info: ValidatorSigningInfo]> {
  for (const [consensusAddress, record] of signingRecords(context.world.native, walk)) {
    yield [consensusAddress, infoOf(context, consensusAddress, record)]
  }
}

function infoOf(
  { world: { native }, block }: ReadContext,
  consensusAddress: Uint8Array,
  record: SigningRecord,
): ValidatorSigningInfo {
  const { signedBlocksWindow } = SLASHING_PARAMS.get(native)
  return {
    address: toBech32(consensusAddress, BECH32_CONSENSUS),
    startHeight: record.startHeight,
    indexOffset: BigInt(windowIndex(record, block.height, signedBlocksWindow)),
    jailedUntil: record.jailedUntil,
    tombstoned: record.tombstoned,
    missedBlocksCounter: BigInt(missedCount(native, consensusAddress)),
  }
}
