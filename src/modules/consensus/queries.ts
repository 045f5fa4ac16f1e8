import { defineMessage, embedded, message, repeated, string } from '../../primitives/protoSchema.ts'
import { parameterNames, parameterValue, SUBSPACE_NAMES } from '../gov/parameterChange.ts'
import { ParamChange } from '../gov/typesV1beta1.ts'
import { defineParamsQuery, defineQuery, type NativeQuery } from '../query/query.ts'
import { invalidArgument } from '../query/queryError.ts'
import { CONSENSUS_PARAMS } from './params.ts'

const SERVICE = 'cosmos.params.v1beta1.Query'
const BASE = '/cosmos/params/v1beta1'

const Subspace = defineMessage('cosmos.params.v1beta1.Subspace', { subspace: string(1), keys: repeated(string(2)) })

/**
 * x/params/keeper/grpc_query.go, over the parameters that modules now store themselves; and the
 * parameters of x/consensus.
 */
export const PARAMS_QUERIES: readonly NativeQuery[] = [
  defineQuery({
    service: SERVICE,
    name: 'Params',
    get: [`${BASE}/params`],
    request: { subspace: string(1), key: string(2) },
    response: { param: embedded(1, ParamChange) },
    run: ({ world }, { subspace, key }) => {
      if (subspace === '' || key === '') throw invalidArgument('invalid request: a subspace and a key are needed')
      if (!SUBSPACE_NAMES.includes(subspace)) throw invalidArgument(`${subspace}: unknown subspace`)
      const value = parameterValue(world.native, subspace, key)
      return { param: { subspace, key, value: value === undefined ? '' : JSON.stringify(value) } }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'Subspaces',
    get: [`${BASE}/subspaces`],
    request: {},
    response: { subspaces: repeated(message(1, Subspace)) },
    run: () => ({
      subspaces: SUBSPACE_NAMES.map((subspace) => ({ subspace, keys: parameterNames(subspace) ?? [] })),
    }),
  }),
  // x/consensus/keeper/keeper.go
  defineParamsQuery('cosmos.consensus.v1.Query', '/cosmos/consensus/v1', CONSENSUS_PARAMS),
]
