import { cancelJob } from "./cancel-job.js";
import { describeJob } from "./describe-job.js";
import { listJobs } from "./list-jobs.js";
import { pauseJob } from "./pause-job.js";
import { queryJobEvents } from "./query-job-events.js";
import { resumeJob } from "./resume-job.js";

export const jobs = [describeJob, listJobs, cancelJob, pauseJob, resumeJob, queryJobEvents];
