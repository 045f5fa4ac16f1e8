import { AUTH_QUERIES } from './authQueries.ts'
import { AUTHZ_QUERIES } from './authzQueries.ts'
import { BANK_QUERIES } from './bankQueries.ts'
import { DISTRIBUTION_QUERIES } from './distributionQueries.ts'
import { ERC20_QUERIES } from './erc20Queries.ts'
import { ETHERMINT_QUERIES } from './ethermintQueries.ts'
import { EVIDENCE_QUERIES } from './evidenceQueries.ts'
import { FEEGRANT_QUERIES } from './feegrantQueries.ts'
import { FEEMARKET_QUERIES } from './feemarketQueries.ts'
import { GOV_QUERIES } from './govQueries.ts'
import { MINT_QUERIES } from './mintQueries.ts'
import { NODE_QUERIES } from './nodeQueries.ts'
import { PARAMS_QUERIES } from './paramsQueries.ts'
import { createQueryTable, type QueryTable } from './query.ts'
import { SLASHING_QUERIES } from './slashingQueries.ts'
import { STAKING_QUERIES } from './stakingQueries.ts'
import { tendermintQueries } from './tendermintQueries.ts'
import { TX_SERVICE_QUERIES } from './txQueries.ts'
import { UPGRADE_QUERIES } from './upgradeQueries.ts'
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
