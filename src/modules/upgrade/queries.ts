import { toBech32 } from '../../primitives/address.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import { bytes, defineMessage, int64, message, repeated, string, uint64 } from '../../primitives/protoSchema.ts'
import { GOVERNANCE } from '../moduleAccounts.ts'
import { defineQuery, type NativeQuery } from '../query/query.ts'
import { notFound } from '../query/queryError.ts'
import { moduleVersions } from './moduleVersions.ts'
import { doneHeight, getPlan, Plan } from './plan.ts'

const SERVICE = 'cosmos.upgrade.v1beta1.Query'
const BASE = '/cosmos/upgrade/v1beta1'

const ModuleVersion = defineMessage('cosmos.upgrade.v1beta1.ModuleVersion', { name: string(1), version: uint64(2) })

/** x/upgrade/keeper/grpc_query.go */
export const UPGRADE_QUERIES: readonly NativeQuery[] = [
  defineQuery({
    service: SERVICE,
    name: 'CurrentPlan',
    get: [`${BASE}/current_plan`],
    request: {},
    response: { plan: message(1, Plan) },
    run: ({ world }) => ({ plan: getPlan(world.native) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'AppliedPlan',
    get: [`${BASE}/applied_plan/{name}`],
    request: { name: string(1) },
    response: { height: int64(1) },
    run: ({ world }, { name }) => ({ height: BigInt(doneHeight(world.native, name)) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'UpgradedConsensusState',
    get: [`${BASE}/upgraded_consensus_state/{last_height}`],
    request: { lastHeight: int64(1) },
    response: { upgradedConsensusState: bytes(2) },
    // Only IBC would have one.
    run: () => ({ upgradedConsensusState: EMPTY_BYTES }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'ModuleVersions',
    get: [`${BASE}/module_versions`],
    request: { moduleName: string(1) },
    response: { moduleVersions: repeated(message(1, ModuleVersion)) },
    run: ({ world }, { moduleName }) => {
      const found = [...moduleVersions(world.native)].filter(([name]) => moduleName === '' || name === moduleName)
      if (found.length === 0) throw notFound(`x/upgrade: QueryModuleVersions module ${moduleName} not found`)
      return { moduleVersions: found.map(([name, version]) => ({ name, version: BigInt(version) })) }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'Authority',
    get: [`${BASE}/authority`],
    request: {},
    response: { address: string(1) },
    run: () => ({ address: toBech32(GOVERNANCE) }),
  }),
]
