import type { AskedSignature } from '../../src/consensus/environment.ts'
import { isAsked } from '../../src/consensus/ownMessages.ts'

/** What the signer gave, with `seen` called for the message once it is signed. */
export function whenSigned<T extends object>(
  staged: T | AskedSignature<T> | undefined,
  seen: (signed: T) => void,
): T | AskedSignature<T> | undefined {
  if (staged === undefined) return undefined
  if (!isAsked(staged)) {
    seen(staged)
    return staged
  }
  return {
    send: (done) =>
      staged.send((complete) =>
        done(() => {
          const signed = complete()
          if (signed !== undefined) seen(signed)
          return signed
        }),
      ),
  }
}
