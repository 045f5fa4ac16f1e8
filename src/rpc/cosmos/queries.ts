import { AUTH_QUERIES } from '../../modules/auth/queries.ts'
import { AUTHZ_QUERIES } from '../../modules/authz/queries.ts'
import { BANK_QUERIES } from '../../modules/bank/queries.ts'
import { PARAMS_QUERIES } from '../../modules/consensus/queries.ts'
import { DISTRIBUTION_QUERIES } from '../../modules/distribution/queries.ts'
import { ERC20_QUERIES } from '../../modules/erc20/queries.ts'
import { EVIDENCE_QUERIES } from '../../modules/evidence/queries.ts'
import { FEEGRANT_QUERIES } from '../../modules/feegrant/queries.ts'
import { FEEMARKET_QUERIES } from '../../modules/feemarket/queries.ts'
import { GOV_QUERIES } from '../../modules/gov/queries.ts'
import { MINT_QUERIES } from '../../modules/mint/queries.ts'
import { SLASHING_QUERIES } from '../../modules/slashing/queries.ts'
import { STAKING_QUERIES } from '../../modules/staking/queries.ts'
import { UPGRADE_QUERIES } from '../../modules/upgrade/queries.ts'
import { ETHERMINT_QUERIES } from './ethermintQueries.ts'
import { NODE_QUERIES } from './nodeQueries.ts'
import { createQueryTable, type QueryTable } from './queryPort.ts'
import { tendermintQueries } from './tendermintQueries.ts'
import { TX_SERVICE_QUERIES } from './txQueries.ts'
import { VM_QUERIES } from './vmQueries.ts'

/** Every query of the native layer. A new one is defined in the file of its module and listed there; a new file is listed here. */
export const QUERIES: QueryTable = createQueryTable([
  ...AUTH_QUERIES,
  ...BANK_QUERIES,
  ...STAKING_QUERIES,
  ...DISTRIBUTION_QUERIES,
  ...SLASHING_QUERIES,
  ...EVIDENCE_QUERIES,
  ...MINT_QUERIES,
  ...GOV_QUERIES,
  ...AUTHZ_QUERIES,
  ...FEEGRANT_QUERIES,
  ...UPGRADE_QUERIES,
  ...PARAMS_QUERIES,
  ...FEEMARKET_QUERIES,
  ...ERC20_QUERIES,
  ...VM_QUERIES,
  ...ETHERMINT_QUERIES,
  ...TX_SERVICE_QUERIES,
  ...NODE_QUERIES,
  ...tendermintQueries(() => QUERIES),
])
