import { bytes, defineTable, int } from '../database/defineTable.ts'

export const BLOCK_TABLES = {
  block: defineTable({
    since: '0001_blocks',
    columns: {
      height: int,
      /** of the Ethereum header */
      hash: bytes,
      /** of the consensus header */
      consensus_hash: bytes,
      time: int,
      /** 20 bytes: the address of the proposer's consensus key */
      proposer: bytes,
      /** who gets the fees of EVM transactions, as `eth_getBlockByNumber` says */
      miner: bytes,
      gas_used: int,
      gas_limit: int,
      /** acoin per gas */
      base_fee: bytes,
      evm_count: int,
      native_count: int,
      /** bytes of the block with its transactions */
      size: int,
    },
    key: ['height'],
    indexes: {
      block_hash: { columns: ['hash'] },
      block_consensus_hash: { columns: ['consensus_hash'] },
      block_proposer: { columns: ['proposer', 'height'] },
      // For the blocks of one proposer's operator: getminedblocks of the Etherscan API.
      block_miner: { columns: ['miner', 'height'], since: '0010_block_miner' },
    },
  }),
} as const
