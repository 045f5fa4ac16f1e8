import type { Attack } from './attack.ts'
import { BLOCK_ATTACKS } from './blockAttacks.ts'
import { CLIENT_ATTACKS } from './clientAttacks.ts'
import { CONSENSUS_ATTACKS } from './consensusAttacks.ts'
import { FRAME_ATTACKS } from './frameAttacks.ts'
import { GOSSIP_ATTACKS } from './gossipAttacks.ts'
import { PEER_ATTACKS } from './peerAttacks.ts'
import { POOL_ATTACKS } from './poolAttacks.ts'
import { STAKE_ATTACKS } from './stakeAttacks.ts'
import { TRANSACTION_ATTACKS } from './transactionAttacks.ts'

/** All attacks, in the order of the table. */
export const ATTACKS: readonly Attack[] = [...CLIENT_ATTACKS, ...TRANSACTION_ATTACKS, ...PEER_ATTACKS, ...FRAME_ATTACKS]

/** What strangers have tried to stop the chain: as accounts and clients, then as peers. */
export const STOP_ATTACKS: readonly Attack[] = [
  ...BLOCK_ATTACKS,
  ...POOL_ATTACKS,
  ...PEER_ATTACKS,
  ...FRAME_ATTACKS,
  ...GOSSIP_ATTACKS,
  ...CONSENSUS_ATTACKS,
  ...STAKE_ATTACKS,
]
