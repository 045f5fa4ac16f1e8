import { CONSENSUS_PARAMS, ConsensusParams } from '../../modules/consensus/params.ts'
import { message } from '../../primitives/protoSchema.ts'
import { defineQuery, type NativeQuery } from './query.ts'

/** x/consensus/keeper/keeper.go */
export const CONSENSUS_QUERIES: readonly NativeQuery[] = [
  defineQuery({
    service: 'cosmos.consensus.v1.Query',
    name: 'Params',
    get: ['/cosmos/consensus/v1/params'],
    request: {},
    response: { params: message(1, ConsensusParams) },
    run: ({ world }) => ({ params: CONSENSUS_PARAMS.get(world.native) }),
  }),
]
