import { decodeEvidence } from '../../chain/comet/evidence.ts'
import { type AnyValue, any, bytes, message, string } from '../../primitives/protoSchema.ts'
import { PageRequest } from '../pagination.ts'
import { consensusText } from '../query/addresses.ts'
import { nanos } from '../query/blockMessages.ts'
import { paginate, storeWalk } from '../query/paginate.ts'
import { definePagedQuery, defineQuery, type NativeQuery } from '../query/query.ts'
import { invalidArgument, notFound } from '../query/queryError.ts'
import { EVIDENCE_STORE_PREFIX, getEvidence } from './evidence.ts'
import { Equivocation } from './types.ts'

const SERVICE = 'cosmos.evidence.v1beta1.Query'
const BASE = '/cosmos/evidence/v1beta1'

/** x/evidence/keeper/grpc_query.go. Hashes are those of CometBFT's evidence. */
export const EVIDENCE_QUERIES: readonly NativeQuery[] = [
  defineQuery({
    service: SERVICE,
    name: 'Evidence',
    get: [`${BASE}/evidence/{hash}`],
    request: { evidenceHash: bytes(1), hash: string(2) },
    response: { evidence: any(1) },
    run: ({ world }, { hash }) => {
      if (!/^(?:[0-9a-f]{2})+$/i.test(hash)) throw invalidArgument('invalid request; hash is empty or no hex')
      const found = getEvidence(world.native, new Uint8Array(Buffer.from(hash, 'hex')))
      if (found === undefined) throw notFound(`evidence ${hash} not found`)
      return { evidence: toEquivocation(found) }
    },
  }),
  definePagedQuery({
    service: SERVICE,
    name: 'AllEvidence',
    get: [`${BASE}/evidence`],
    request: { pagination: message(1, PageRequest) },
    list: ['evidence', any(1)],
    run: (context, { pagination }) => {
      const walk = storeWalk(context.world.native, EVIDENCE_STORE_PREFIX, (_, value) => value)
      return paginate(context, pagination, walk, toEquivocation)
    },
  }),
]

function toEquivocation(stored: Uint8Array): AnyValue {
  const { voteA, timestampMs, validatorPower } = decodeEvidence(stored)
  const equivocation = {
    height: BigInt(voteA.height),
    time: nanos(timestampMs),
    power: validatorPower,
    consensusAddress: consensusText(voteA.validatorAddress),
  }
  return { typeUrl: Equivocation.typeUrl, value: Equivocation.encode(equivocation) }
}
