// Opcodes that push one word of the frame, the transaction or the block.

import { selfBalance } from './accountOpcodes'
import { returnLength } from './buffer'
import {
  ENV_BASE_FEE,
  ENV_BLOB_BASE_FEE,
  ENV_CHAIN_ID,
  ENV_COINBASE,
  ENV_GAS_LIMIT,
  ENV_GAS_PRICE,
  ENV_NUMBER,
  ENV_ORIGIN,
  ENV_PREV_RANDAO,
  ENV_TIMESTAMP,
} from './constants'
import { ADDRESS_WORD, CALLER_WORD, CODE, CODE_LENGTH, environment, INPUT_LENGTH, VALUE } from './layout'
import { copyWord, setWord } from './wordAccess'

/** Writes the word that `opcode` pushes to `sp`. */
export function pushContext(opcode: u32, frame: usize, sp: usize): void {
  switch (opcode) {
    case 0x30:
      copyWord(sp, frame + ADDRESS_WORD)
      return
    case 0x32:
      copyWord(sp, environment + ENV_ORIGIN)
      return
    case 0x33:
      copyWord(sp, frame + CALLER_WORD)
      return
    case 0x34:
      copyWord(sp, frame + VALUE)
      return
    case 0x36:
      setWord(sp, load<u32>(frame, INPUT_LENGTH))
      return
    case 0x38:
      setWord(sp, load<u32>(load<usize>(frame, CODE), CODE_LENGTH))
      return
    case 0x3a:
      copyWord(sp, environment + ENV_GAS_PRICE)
      return
    case 0x3d:
      setWord(sp, returnLength)
      return
    case 0x41:
      copyWord(sp, environment + ENV_COINBASE)
      return
    case 0x42:
      copyWord(sp, environment + ENV_TIMESTAMP)
      return
    case 0x43:
      copyWord(sp, environment + ENV_NUMBER)
      return
    case 0x44:
      copyWord(sp, environment + ENV_PREV_RANDAO)
      return
    case 0x45:
      copyWord(sp, environment + ENV_GAS_LIMIT)
      return
    case 0x46:
      copyWord(sp, environment + ENV_CHAIN_ID)
      return
    case 0x47:
      selfBalance(frame, sp)
      return
    case 0x48:
      copyWord(sp, environment + ENV_BASE_FEE)
      return
    default:
      copyWord(sp, environment + ENV_BLOB_BASE_FEE)
  }
}
