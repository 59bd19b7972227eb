import { exitWhenParentGone } from '../../embedded/children/parent-watch.ts'

/**
 * Loaded into a process by `--import`. Ends the process when the test that started it ends, in any way. `process.exit`
 * would write the rest of the log first, and would try that for ever, because nobody reads it any more.
 */
exitWhenParentGone(() => process.kill(process.pid, 'SIGKILL'))
