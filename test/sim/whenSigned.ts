import type { AskedSignature } from '../../src/consensus/environment.ts'
import { isAsked, mapAsked } from '../../src/consensus/ownMessages.ts'

/** What the signer gave, with `seen` called for the message once it is signed. */
export function whenSigned<T extends object>(
  staged: T | AskedSignature<T> | undefined,
  seen: (signed: T) => void,
): T | AskedSignature<T> | undefined {
  if (staged === undefined) return undefined
  const tell = (signed: T): T => {
    seen(signed)
    return signed
  }
  return isAsked(staged) ? mapAsked(staged, tell) : tell(staged)
}
