// npm and npx run a command in a shell, and neither passes on its own end: a node would keep running. Node.js reports only the end of
// a child process, so the processes above this one are checked from time to time.
import { readFileSync } from 'node:fs'

const CHECK_MS = 500
/** npm sets it for the programs that it runs. */
const STARTED_BY_NPM = 'npm_lifecycle_event'

/**
 * Calls `onEnded` repeatedly once a process of npm or npx has ended: its shell (the parent of this process), npm itself, or further
 * ones where a script runs npm. Does nothing in a process that npm has not started. Without /proc it watches only the parent.
 */
export function watchNpm(onEnded) {
  if (process.env[STARTED_BY_NPM] === undefined) return
  const known = ancestors()
  const check = () => {
    if (!known.every((id, index) => id === parentOf(known[index - 1]))) onEnded()
  }
  setInterval(check, CHECK_MS).unref()
}

/** Returns the parent of this process, its parent, and so on up to the npm that was started by something else. */
function ancestors() {
  const known = [process.ppid]
  while (isStartedByNpm(known.at(-1))) {
    const next = parentOf(known.at(-1))
    if (next === undefined) break
    known.push(next)
  }
  return known
}

function isStartedByNpm(id) {
  const environment = readProc(`${id}/environ`) ?? ''
  return environment.split('\0').some((entry) => entry.startsWith(`${STARTED_BY_NPM}=`))
}

/** Returns a process's parent, by default this one's; undefined: the process has ended, or there is no /proc. */
function parentOf(id) {
  if (id === undefined) return process.ppid
  // The name in parentheses, which may contain spaces, is followed by the state and the parent's ID.
  const fields = readProc(`${id}/stat`)?.replace(/^.*\)/s, '').trim().split(' ')
  return fields === undefined ? undefined : Number(fields[1])
}

function readProc(path) {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    // The process has ended or belongs to another user, or this system has no /proc.
    return undefined
  }
}
