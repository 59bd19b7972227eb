/** Made from /openapi.json by `npm run client:types`. The refusals are left out: each is a `Problem`. */

export interface paths {
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** State of everything: 503 when any check fails */
        get: operations["health-full"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process answers */
        get: operations["health-live"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether requests can be served */
        get: operations["health-ready"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** State of everything: 503 when any check fails */
        get: operations["health-full-events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process answers */
        get: operations["health-live-events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether requests can be served */
        get: operations["health-ready-events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** State of everything: 503 when any check fails */
        get: operations["health-full-audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process answers */
        get: operations["health-live-audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether requests can be served */
        get: operations["health-ready-audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** State of everything: 503 when any check fails */
        get: operations["health-full-auth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process answers */
        get: operations["health-live-auth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether requests can be served */
        get: operations["health-ready-auth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** State of everything: 503 when any check fails */
        get: operations["health-full-clinical-api"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process answers */
        get: operations["health-live-clinical-api"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether requests can be served */
        get: operations["health-ready-clinical-api"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orchestrator/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** State of everything: 503 when any check fails */
        get: operations["health-full-orchestrator"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orchestrator/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process answers */
        get: operations["health-live-orchestrator"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orchestrator/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether requests can be served */
        get: operations["health-ready-orchestrator"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/consent/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** State of everything: 503 when any check fails */
        get: operations["health-full-consent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/consent/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process answers */
        get: operations["health-live-consent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/consent/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether requests can be served */
        get: operations["health-ready-consent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/user-management/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** State of everything: 503 when any check fails */
        get: operations["health-full-user-management"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/user-management/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process answers */
        get: operations["health-live-user-management"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/user-management/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether requests can be served */
        get: operations["health-ready-user-management"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** State of everything: 503 when any check fails */
        get: operations["health-full-notifications"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process answers */
        get: operations["health-live-notifications"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether requests can be served */
        get: operations["health-ready-notifications"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ai-review/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** State of everything: 503 when any check fails */
        get: operations["health-full-ai-review"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ai-review/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process answers */
        get: operations["health-live-ai-review"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ai-review/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether requests can be served */
        get: operations["health-ready-ai-review"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/human-review/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** State of everything: 503 when any check fails */
        get: operations["health-full-human-review"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/human-review/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process answers */
        get: operations["health-live-human-review"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/human-review/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether requests can be served */
        get: operations["health-ready-human-review"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures of the process, for Prometheus */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures of the process, for Prometheus */
        get: operations["metrics-events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures of the process, for Prometheus */
        get: operations["metrics-audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures of the process, for Prometheus */
        get: operations["metrics-auth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures of the process, for Prometheus */
        get: operations["metrics-clinical-api"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orchestrator/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures of the process, for Prometheus */
        get: operations["metrics-orchestrator"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/consent/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures of the process, for Prometheus */
        get: operations["metrics-consent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/user-management/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures of the process, for Prometheus */
        get: operations["metrics-user-management"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures of the process, for Prometheus */
        get: operations["metrics-notifications"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ai-review/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures of the process, for Prometheus */
        get: operations["metrics-ai-review"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/human-review/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures of the process, for Prometheus */
        get: operations["metrics-human-review"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/problems/{code}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Meaning of a problem type */
        get: operations["getProblem"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/{channel}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The public events of a channel, in their order
         * @description At least once. `event_id` recognises a repeat. `Prefer: wait=N` waits for the next event. `Accept: text/event-stream` answers with server-sent events: the id of each is its cursor, and `Last-Event-ID` continues behind it. A client of an organisation gets the events of its organisation.
         */
        get: operations["readEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The events of a subject, in the order of the log
         * @description Exactly one of `patient_id`, `case_id`, `assessment_id`, `ai_review_id`, `task_id`, `workflow_instance_id`, `notification_id`, `user_id`, `client_id`, `subscription_id`. A patient has the events of everything about it. A case has those of its images, assessment, reviews, tasks, workflow instances and deliveries. Public events are left out, because they repeat facts. An actor needs the permission of the same name too.
         */
        get: operations["readTimeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/as-of": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What a GET route answered at a moment of the past
         * @description The answer of today's program over the events up to the moment, for a caller who sees the whole organisation. `GET /v1/audit/as-of/paths` lists the paths. An actor needs the permission of the same name too.
         */
        get: operations["readAsOf"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/as-of/paths": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The paths that have answers of the past
         * @description An actor needs the permission of the same name too.
         */
        get: operations["listAsOfPaths"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/log/checkpoint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The newest seal of the log
         * @description An actor needs the permission of the same name too.
         */
        get: operations["readLogCheckpoint"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/log/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The keys that sign seals
         * @description An actor needs the permission of the same name too.
         */
        get: operations["readLogKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/log/tile/{level}/{index}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A tile of the log
         * @description An actor needs the permission of the same name too.
         */
        get: operations["readLogTile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/log/proof": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A proof that the log contains an event
         * @description An actor needs the permission of the same name too.
         */
        get: operations["proveEvent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/log/consistency": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A proof that the log only grew
         * @description An actor needs the permission of the same name too.
         */
        get: operations["proveConsistency"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/access-log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who saw personal content, the latest first
         * @description Of a patient, of an actor or of a client: at least one of them. An answer is listed within about a second after it left. Messages about a patient are listed too, with the operations `webhook` and `email`. An actor needs the permission of the same name too.
         */
        get: operations["listAccesses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/exports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Export everything about a patient
         * @description Answers with the running export of the patient, if there is one. `GET /v1/audit/exports/{id}` has the address of the ZIP file when it has finished. An actor needs the permission of the same name too.
         */
        post: operations["requestExport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/exports/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * An export, and the address of its ZIP file
         * @description An actor needs the permission of the same name too.
         */
        get: operations["getExport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What is wrong in the installation, since when, and what to do
         * @description With `Accept: text/event-stream` alone it answers with server-sent events: an overview each five seconds, and at each change of `status`. An actor needs the permission of the same name too.
         */
        get: operations["readOperationsOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The processes with their checks
         * @description An actor needs the permission of the same name too.
         */
        get: operations["readOperationsHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/seals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The newest seal of the log, and how far it is behind
         * @description An actor needs the permission of the same name too.
         */
        get: operations["readSeal"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/steps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Work of all processes, the oldest first
         * @description An actor needs the permission of the same name too.
         */
        get: operations["listWork"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Deliveries of webhooks that are not over, the oldest first
         * @description An actor needs the permission of the same name too.
         */
        get: operations["listDeliveryWork"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/notifications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Notifications that are not over, the oldest first
         * @description An actor needs the permission of the same name too.
         */
        get: operations["listNotificationWork"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/steps/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One piece of work
         * @description An actor needs the permission of the same name too.
         */
        get: operations["readWork"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/subjects/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * An assessment, a case, an AI review, a task, a delivery or a notification on its way through the stages
         * @description An actor needs the permission of the same name too.
         */
        get: operations["readOperationsSubject"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Work that fails in the same way, the largest groups first
         * @description An actor needs the permission of the same name too.
         */
        get: operations["listFailureGroups"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/groups/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One failure group
         * @description An actor needs the permission of the same name too.
         */
        get: operations["readFailureGroup"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/projections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read models and to-do lists, by name
         * @description An actor needs the permission of the same name too.
         */
        get: operations["listProjections"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/relays": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The relays of public channels, by channel
         * @description An actor needs the permission of the same name too.
         */
        get: operations["listRelays"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Receivers of webhooks, with their hosts
         * @description An actor needs the permission of the same name too.
         */
        get: operations["listEndpoints"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What operators did, the latest first
         * @description An actor needs the permission of the same name too.
         */
        get: operations["listOperatorActions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/steps/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give one failing piece of work its next try now
         * @description Within the limits of the workers. While a retry of the same work runs, it is the answer. Work that fails again stays on its own schedule. An actor needs the permission of the same name too.
         */
        post: operations["retryWork"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/groups/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give each item of a failure group its next try now
         * @description Within the limits of the workers. While a retry of the same work runs, it is the answer. Work that fails again stays on its own schedule. An actor needs the permission of the same name too.
         */
        post: operations["retryFailureGroup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/projections/{name}/rebuild": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Fill a read model anew from the log, and serve it if it is equal
         * @description A projector process carries it out. `operation` of `GET /v1/operations/projections` shows how far it is. An actor needs the permission of the same name too.
         */
        post: operations["rebuildProjection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/projections/{name}/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Compare a read model with the log
         * @description A projector process carries it out. `operation` of `GET /v1/operations/projections` shows how far it is. An actor needs the permission of the same name too.
         */
        post: operations["verifyProjection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/projections/{name}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Have a failed read model try its event again
         * @description A projector process carries it out. `operation` of `GET /v1/operations/projections` shows how far it is. An actor needs the permission of the same name too.
         */
        post: operations["retryProjection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/projections/{name}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Serve the copy from before the last rebuild
         * @description A projector process carries it out. `operation` of `GET /v1/operations/projections` shows how far it is. An actor needs the permission of the same name too.
         */
        post: operations["rollBackProjection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/projections/{name}/skip": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Have a failed read model go on without its event, for ever
         * @description A projector process carries it out. `operation` of `GET /v1/operations/projections` shows how far it is. An actor needs the permission of the same name too.
         */
        post: operations["skipProjectionEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/oauth/introspect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Whether a token is valid (RFC 7662)
         * @description A client asks about its own tokens, a platform client about any. Other tokens are not active. The answer includes every revocation that was answered before.
         */
        post: operations["introspectToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/oauth/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a token (RFC 7009)
         * @description A client ends its own tokens, a platform client any. Also 200 for an unknown token, and for a token of another client, which stays valid. Every API instance refuses the token within a second.
         */
        post: operations["revokeToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/.well-known/oauth-authorization-server": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the authorization server supports (RFC 8414) */
        get: operations["getAuthorizationServerMetadata"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/oauth/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Issue an access token (client credentials)
         * @description The client shows its secret in the header or in the form, or a signed assertion (`private_key_jwt`, RFC 7523 as in SMART Backend Services: RS384 or ES384, `aud` this address, `exp` at most five minutes ahead, each `jti` once).
         */
        post: operations["issueToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/.well-known/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Keys that verify access tokens, actor contexts, consent receipts and documents for auditors
         * @description A new key is here before it signs, an old one until its last token has ended. Keys of receipts and of documents for auditors stay for good.
         */
        get: operations["getTokenKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/clients": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Clients, the oldest first
         * @description Of the organisation. A platform caller that names none gets the clients of all, and of the platform.
         */
        get: operations["listOauthClients"];
        put?: never;
        /**
         * Register a client
         * @description Without `jwks` and `jwks_uri` the client gets a secret, which only this answer contains. Without `org_id` the client is of the caller’s organisation; a platform caller then registers a platform client. Only platform clients have `operations:read`, `operations:write`, `users:admin` and `users:permissions`.
         */
        post: operations["registerOauthClient"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/clients/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A client
         * @description `last_used_at` of a secret is at most an hour old, and does not change the ETag.
         */
        get: operations["getOauthClient"];
        put?: never;
        post?: never;
        /**
         * Delete a client
         * @description Its tokens end, and its id is never used again.
         */
        delete: operations["deleteOauthClient"];
        options?: never;
        head?: never;
        /**
         * Change a client, or disable and enable it
         * @description Members that are left out stay as they are. A removed scope, another product, the end of `trusted_actor_context` and disabling end all tokens that the client has.
         */
        patch: operations["changeOauthClient"];
        trace?: never;
    };
    "/v1/auth/clients/{id}/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add a second secret to a client
         * @description Only this answer contains the secret. Both secrets work until one is removed or expires.
         */
        post: operations["addOauthClientSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/clients/{id}/secrets/{secretId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a secret of a client
         * @description Tokens that were issued with it end. The last secret of a client stays.
         */
        delete: operations["removeOauthClientSecret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/scopes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Scopes that clients may hold, by name */
        get: operations["listOauthScopes"];
        put?: never;
        /**
         * Register the scopes of a service
         * @description Platform callers only. The same scopes again change nothing; another description replaces the old one. So an `Idempotency-Key` has no effect.
         */
        post: operations["registerOauthScopes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-authorization-server/v1/auth": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the authorization server supports (RFC 8414) */
        get: operations["getWellKnownMetadata"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/patients": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The patients with an identifier
         * @description Finds patients by an identifier. No route lists all patients.
         */
        get: operations["listPatients"];
        put?: never;
        /** Register a patient */
        post: operations["registerPatient"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/patients/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A patient */
        get: operations["getPatient"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Correct the data of a patient
         * @description Omitted members stay unchanged. `identifiers` replaces the list.
         */
        patch: operations["correctPatient"];
        trace?: never;
    };
    "/v1/clinical-api/cases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Cases of the organisation, or of one of its patients, newest first */
        get: operations["listCases"];
        put?: never;
        /**
         * Open a case
         * @description With `workflow_definition_id`, a workflow instance starts within a second after the answer.
         */
        post: operations["openCase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/cases/{id}/close": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Close a case
         * @description Its running workflow instances are cancelled. Afterwards the case takes no images, reviews and workflow instances. An assessment or a review that has begun goes on. A repeat changes nothing. While a task of human review is open or claimed the case is `in_review` and stays so.
         */
        post: operations["closeCase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/patients/{id}/erase": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Erase everything about a patient
         * @description From the answer on, nothing new about the patient is recorded. With `ERASURE_APPROVALS=2` it begins when another user approves. `GET …/erasure` shows how far it is. An actor needs the permission of the same name too.
         */
        post: operations["erasePatient"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/patients/{id}/erasure/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Agree to an erasure as the second person
         * @description An actor needs the permission of the same name too.
         */
        post: operations["approveErasure"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/patients/{id}/erasure/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Withdraw an erasure that waits for approval
         * @description An actor needs the permission of the same name too.
         */
        post: operations["cancelErasure"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/patients/{id}/erasure": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How far the erasure of a patient is
         * @description The latest erasure, also one that was cancelled. An actor needs the permission of the same name too.
         */
        get: operations["getErasure"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/patients/{id}/legal-hold": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The legal hold on a patient
         * @description An actor needs the permission of the same name too.
         */
        get: operations["getLegalHold"];
        /**
         * Forbid the erasure of a patient
         * @description Replaces the hold, if there is one. An actor needs the permission of the same name too.
         */
        put: operations["placeLegalHold"];
        post?: never;
        /**
         * Permit the erasure of a patient again
         * @description Without a hold nothing changes. An actor needs the permission of the same name too.
         */
        delete: operations["releaseLegalHold"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/cases/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A case
         * @description With `Cache-Control: no-cache` the answer is up to date, or a 503.
         */
        get: operations["getCase"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/cases/{id}/findings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The findings of a case, oldest first: one for each lesion of each completed AI review */
        get: operations["listFindings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/cases/{id}/diagnoses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The diagnoses of a case, oldest first: one of the AI for each finding, and those of clinicians
         * @description A clinician who confirms or corrects a diagnosis of the AI adds one to the same finding. The diagnosis of the AI is `superseded` if it was corrected or rejected, or if another AI review replaced its review. Findings and diagnoses of clinicians stay.
         */
        get: operations["listDiagnoses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/body-sites": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The catalogue of body sites, each before its parts */
        get: operations["listBodySites"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/images": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Images of the organisation, or of a case, a patient or an assessment, newest first */
        get: operations["listImages"];
        put?: never;
        /** Declare an image of a case or a patient, for a later upload */
        post: operations["declareImage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/images/{id}/upload-url": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Get a new upload address for a declared image */
        post: operations["signImageUploadUrl"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/images/{id}/submit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Submit the uploaded bytes of an image */
        post: operations["submitImage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/images/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** An image, with a download address once its bytes are stored */
        get: operations["getImage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/assessments/{id}/submit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Submit the uploaded images of an assessment */
        post: operations["submitAssessment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/assessments/{id}/images/{imageId}/upload-url": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Get a new upload address for an image that awaits its upload */
        post: operations["signUploadUrl"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/assessments/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** An assessment */
        get: operations["getAssessment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/webhook-subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Webhook subscriptions of the organisation, oldest first */
        get: operations["listWebhookSubscriptions"];
        put?: never;
        /**
         * Subscribe an address to assessment events
         * @description Only a 201 and the answer of a rotation contain `secret`. The same address and events again return 200.
         */
        post: operations["subscribeWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/webhook-subscriptions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A webhook subscription */
        get: operations["getWebhookSubscription"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook subscription permanently
         * @description Its pending deliveries are cancelled.
         */
        delete: operations["deleteWebhookSubscription"];
        options?: never;
        head?: never;
        /**
         * Change a webhook subscription, or switch it off and on
         * @description Omitted members stay unchanged. Disabling a subscription cancels its pending deliveries.
         */
        patch: operations["changeWebhookSubscription"];
        trace?: never;
    };
    "/v1/clinical-api/webhook-subscriptions/{id}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace the secret and the key pair that sign deliveries
         * @description The previous secret also signs for `grace_seconds`. The answer contains `secret`.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/.well-known/webhook-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Keys that verify deliveries signed by v1a
         * @description The `kid` is the `public_key_id` of a subscription. Without it: the newest thousand keys.
         */
        get: operations["getWebhookKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/webhook-subscriptions/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test to a webhook subscription
         * @description Signed like every other webhook, with the type `webhook.test` and the body `{"test":true}`. Sent once, without a retry.
         */
        post: operations["testWebhookSubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/webhook-subscriptions/{id}/deliveries/{deliveryId}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a delivery that has ended again
         * @description Under the same webhook-id, with a whole round of the retry schedule. A pending delivery does not change.
         */
        post: operations["redeliverWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/webhook-subscriptions/{id}/recover": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send the failed and cancelled deliveries of a period again
         * @description Deliveries of events from `since` on and before `until` (now, if left out), oldest first. Events that happened while the subscription was disabled have no deliveries.
         */
        post: operations["recoverWebhooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/webhook-subscriptions/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Deliveries to a webhook subscription, newest first
         * @description By the instant of the event. A delivery is listed as `pending` from its event on, also while its endpoint pauses.
         */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/webhook-subscriptions/{id}/deliveries/{deliveryId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A delivery to a webhook subscription */
        get: operations["getWebhookDelivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clinical-api/assessments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Request an assessment of images in the body, or of declared images that are uploaded later */
        post: operations["createAssessment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orchestrator/workflow-instances": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Workflow instances of the organisation, of a case or in a state, without outputs and configurations, newest first */
        get: operations["listWorkflowInstances"];
        put?: never;
        /** Start an instance of the newest version of a workflow definition, on an open case */
        post: operations["startWorkflowInstance"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orchestrator/workflow-instances/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a workflow instance that has not ended
         * @description An assessment that the instance has requested goes on.
         */
        post: operations["cancelWorkflowInstance"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orchestrator/workflow-instances/{id}/advance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Supply the output of the step that the instance waits at
         * @description The instance then moves on to the next step that waits, or to its end. The latest output of an earlier step again changes nothing. The answer contains the record.
         */
        post: operations["advanceWorkflowInstance"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orchestrator/workflow-definitions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The newest versions of all workflow definitions without their steps, the last published one first */
        get: operations["listWorkflowDefinitions"];
        put?: never;
        /**
         * Publish a workflow definition, or the next version of the one with this name
         * @description All versions of a name share the id. A version never changes. Instances keep the version that they started with. Put no patient data into a definition.
         */
        post: operations["publishWorkflowDefinition"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orchestrator/workflow-definitions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A workflow definition, in its newest version or a given one */
        get: operations["getWorkflowDefinition"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orchestrator/workflow-instances/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A workflow instance, with the step that it waits at and the outputs of its steps */
        get: operations["getWorkflowInstance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/consent-types": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Consent types of the organisation, by code */
        get: operations["listConsentTypes"];
        put?: never;
        /** Create a consent type */
        post: operations["createConsentType"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/consent-types/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A consent type with its text versions
         * @description Contains the newest text versions, oldest first: at most 50, and fewer where they would exceed 2 MiB. The list of text versions contains all.
         */
        get: operations["getConsentType"];
        put?: never;
        post?: never;
        /**
         * Delete a consent type without decisions
         * @description Its code stays taken. A type with decisions is never deleted.
         */
        delete: operations["deleteConsentType"];
        options?: never;
        head?: never;
        /**
         * Change the description of a consent type
         * @description Omitted members stay unchanged. Code and legal basis never change.
         */
        patch: operations["updateConsentType"];
        trace?: never;
    };
    "/v1/admin/consent-types/{typeId}/text-versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Text versions of a consent type, oldest first */
        get: operations["listConsentTextVersions"];
        put?: never;
        /** Publish a text version of a consent type */
        post: operations["publishConsentTextVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/patients/{patientId}/consents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A patient's latest decision on each consent type, by code
         * @description The organisation must be named, by `org_id` (or `orgId`). Any platform token; one with `consents:read` where `CONSENT_SCOPES_REQUIRED` names the organisation.
         */
        get: operations["listConsents"];
        put?: never;
        /**
         * Record a patient's decision
         * @description The decision `granted` needs a text that was in effect at `recorded_at`; `denied` and `withdrawn` need none. A `recorded_at` that is at most 60 seconds ahead of the server counts as now, because clocks differ. A later one is refused. Any platform token; one with `consents:write` where `CONSENT_SCOPES_REQUIRED` names the organisation.
         */
        post: operations["recordConsentDecision"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/patients/{patientId}/consents/{typeCode}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A patient's current decision on one consent type
         * @description Any platform token; one with `consents:read` where `CONSENT_SCOPES_REQUIRED` names the organisation.
         */
        get: operations["getConsentStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/patients/{patientId}/consents/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether a patient has granted each of several consent types
         * @description The answer has every code of the request. A code that the organisation does not have is not granted. Any platform token; one with `consents:read` where `CONSENT_SCOPES_REQUIRED` names the organisation.
         */
        get: operations["checkConsents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/patients/{patientId}/consents/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All of a patient's decisions, newest first
         * @description Any platform token; one with `consents:read` where `CONSENT_SCOPES_REQUIRED` names the organisation.
         */
        get: operations["listConsentHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/patients/{patientId}/consents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One decision of a patient
         * @description The same record that the POST returned. A decision never changes. Any platform token; one with `consents:read` where `CONSENT_SCOPES_REQUIRED` names the organisation.
         */
        get: operations["getConsentDecision"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/patients/{patientId}/consents/{id}/receipt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A signed receipt of one decision
         * @description States the record, the hash and locale of its text, and when it was issued. `npm run platform -- verify receipt` verifies it offline. Any platform token; one with `consents:read` where `CONSENT_SCOPES_REQUIRED` names the organisation.
         */
        get: operations["getConsentReceipt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/consent-records": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A patient's current decision, always up to date
         * @description Answers 503 unless the read model contains everything recorded before the request. Any platform token; one with `consents:read` where `CONSENT_SCOPES_REQUIRED` names the organisation.
         */
        get: operations["getConsentRecords"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Users, the oldest first
         * @description Callers of an organisation see its members, and no membership of another organisation. `organisationId` is also `org`, `org_id` or `orgId`; `userType` is also `type`; `roleId` is also `role`. The scope `users:admin` counts for platform clients only.
         */
        get: operations["listUsers"];
        put?: never;
        /**
         * Create a user with an account at the identity provider
         * @description Without `roleId` the user gets the default role of the organisation. A role that holds `auth:admin` needs a caller who holds it. A platform caller may create a user without an organisation. The scope `users:admin` counts for platform clients only.
         */
        post: operations["createUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/users/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A user with memberships
         * @description Callers of an organisation see its members, and no membership of another organisation. The ETag is `"<revision of the user>.<revision of the roles>.<organisation>"`; If-Match compares the first. The scope `users:admin` counts for platform clients only.
         */
        get: operations["getUser"];
        put?: never;
        post?: never;
        /**
         * Deactivate a user and disable its account
         * @description The user stays. Deactivated again, nothing changes. A user whose role holds `auth:admin` needs a caller who holds it. The scope `users:admin` counts for platform clients only.
         */
        delete: operations["deactivateUser"];
        options?: never;
        head?: never;
        /**
         * Change the status or the profile of a user
         * @description Members that are left out stay as they are. Only callers who hold `auth:admin` change the address or the status of a user whose role holds it. The scope `users:admin` counts for platform clients only.
         */
        patch: operations["changeUser"];
        trace?: never;
    };
    "/v1/admin/users/{id}/erase": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Erase the personal data of a deactivated user for ever
         * @description The scope `users:admin` counts for platform clients only.
         */
        post: operations["eraseUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/users/{id}/reset-password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let the identity provider send the user a message to choose a new password
         * @description The message follows later. A request while one is under way sends no second message. A user whose role holds `auth:admin` needs a caller who holds it. The scope `users:admin` counts for platform clients only.
         */
        post: operations["resetPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The user of X-Actor-Context, with memberships, roles and permissions
         * @description `permissions` are those of the actor's organisation.
         */
        get: operations["getOwnUser"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change your own display name, locale and contact preferences */
        patch: operations["changeMe"];
        trace?: never;
    };
    "/v1/admin/users/{id}/memberships": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add a user to an organisation with a role
         * @description Only platform callers add a user to an organisation that does not see the user yet. A role that holds `auth:admin` needs a caller who holds it. The scope `users:admin` counts for platform clients only.
         */
        post: operations["addMembership"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/users/{id}/memberships/{membershipId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a user from an organisation
         * @description If the role of the user holds `auth:admin`, the caller must hold it, too. The scope `users:admin` counts for platform clients only.
         */
        delete: operations["removeMembership"];
        options?: never;
        head?: never;
        /**
         * Change the role of a membership
         * @description If the role before or after holds `auth:admin`, the caller must hold it, too. The scope `users:admin` counts for platform clients only.
         */
        patch: operations["changeMembership"];
        trace?: never;
    };
    "/v1/admin/users/{id}/memberships/{membershipId}/products": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Grant a membership access to a product
         * @description A product that is granted already is 200 with the existing grant. The scope `users:admin` counts for platform clients only.
         */
        post: operations["grantProductAccess"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/users/{id}/memberships/{membershipId}/products/{productId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke the access of a membership to a product
         * @description The scope `users:admin` counts for platform clients only.
         */
        delete: operations["revokeProductAccess"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/roles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Roles of the organisation, the oldest first
         * @description A platform caller that names no organisation gets the roles of all. The scope `users:admin` counts for platform clients only.
         */
        get: operations["listRoles"];
        put?: never;
        /**
         * Create a role for an organisation
         * @description A new default role replaces the previous one. Only platform callers put `auth:admin` in a role. The scope `users:admin` counts for platform clients only.
         */
        post: operations["createRole"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/roles/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A role with its permissions
         * @description The scope `users:admin` counts for platform clients only.
         */
        get: operations["getRole"];
        put?: never;
        post?: never;
        /**
         * Delete a role that no member has
         * @description The scope `users:admin` counts for platform clients only.
         */
        delete: operations["deleteRole"];
        options?: never;
        head?: never;
        /**
         * Change the name, the description or the permissions of a role
         * @description `permissions` replaces all of them. Members that are left out stay as they are. Only platform callers put `auth:admin` in a role; whoever lacks it neither takes it away nor makes such a role the default. The scope `users:admin` counts for platform clients only.
         */
        patch: operations["changeRole"];
        trace?: never;
    };
    "/v1/permissions/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register the permissions of a service
         * @description For platform clients with the scope `users:permissions`. The first registration binds the service to the client, and the first segment of each permission to the service. The same permissions again change nothing, so an `Idempotency-Key` has no effect.
         */
        post: operations["registerPermissions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The actor context of a user in an organisation
         * @description The answer is at most a second old, or a 503. It includes every answered write. With `Cache-Control: no-cache` it includes everything recorded before the request. At least half of the life of `token` is left. Without `org_id` it is the organisation of the token, or the only one of the user. A `token` that would be longer than 8 KiB has `user_id` and `org_id` only, which is enough in the mode `resolve`. `token` has the type actor-context+jwt and is signed with a key of /v1/auth/.well-known/jwks.json.
         */
        get: operations["getActorContext"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/me/access-log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who saw personal content of the user of X-Actor-Context, the latest first
         * @description The content of the patient of the user's patient account, and the contact of the user, in the organisation of the actor. With names instead of ids. No scope is needed.
         */
        get: operations["listOwnAccesses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/by-external-id/{externalId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The user with a subject of the identity provider
         * @description Callers of an organisation see its members, and no membership of another organisation. `email` is null for clients without the scope `users:contact`.
         */
        get: operations["getUserByExternalId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}/contact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Address and name of a user, for messages
         * @description For platform clients only. With `org_id` the user must be a member. With `Cache-Control: no-cache` the answer is current, or a 503.
         */
        get: operations["getUserContact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/by-clinical-patient/{patientId}/contact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Address and name of the only active member of an organisation who is this clinical patient
         * @description For platform clients only. 404 if there is no such member, or more than one. With `Cache-Control: no-cache` the answer is current, or a 503.
         */
        get: operations["getPatientContact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/permissions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Registered permissions and those of the platform, by their text */
        get: operations["listPermissions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Notifications of the organisation, newest first
         * @description Variables are never shown, and e-mail addresses are masked. `from` (inclusive) and `to` (exclusive) are about `createdAt`. A platform client that names no organisation reads the notifications that have none: those of rules of the platform about events without an organisation.
         */
        get: operations["listNotifications"];
        put?: never;
        /**
         * Send a notification
         * @description A chat channel gets a chat message; a user and an e-mail address get a mail. The template is that of the locale of the user, else of en-GB.
         */
        post: operations["sendNotification"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/admin/queue/failed/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a failed notification again
         * @description The same notification is queued with a whole round of tries. Its attempts count on.
         */
        post: operations["retryFailedNotification"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/admin/queue/failed/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send all failed notifications of one kind again
         * @description The notifications that failed with `errorCode` since an instant, oldest failure first. For example after wrong credentials of a provider were corrected.
         */
        post: operations["retryFailedNotifications"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/admin/queue/re-enqueue-stuck": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Queue stuck notifications again
         * @description Queued notifications that were due more than `olderThanSeconds` ago are due now. Attempts that a crash cut off end as `delivery_unknown`. With `dryRun` nothing changes, and the answer contains what would.
         */
        post: operations["reEnqueueStuckNotifications"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A notification with its delivery attempts
         * @description A platform client that names no organisation reads the notifications that have none: those of rules of the platform about events without an organisation.
         */
        get: operations["getNotification"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/admin/queue/failed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Failed notifications of the last days, the latest failure first
         * @description Shown for `FAILED_RETENTION_SECONDS` (7 days). A notification that is sent again leaves the list.
         */
        get: operations["listFailedNotifications"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/admin/inbox": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events that rules matched, the last received first
         * @description An event that is too old, or that notifications caused themselves, makes no notification. `rules` contains the reason.
         */
        get: operations["listEventInbox"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/admin/templates/{code}/render-preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Render a template with sample variables
         * @description Nothing is sent. Without `template` in the body, it is the template that a message of the organisation would use. A missing variable is listed, and subject and body are null.
         */
        post: operations["previewNotificationTemplate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/admin/templates/{code}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A template in its newest version, and the others of its code
         * @description `channel`, `locale` and `orgId` select the template. Without them a mail in en-GB comes first, and of two the one of the organisation.
         */
        get: operations["getNotificationTemplate"];
        /**
         * Create a template or replace its content
         * @description Code, channel, locale and organisation name the template. The version increases when subject or body change. A platform client names `orgId`, null for the default of every organisation.
         */
        put: operations["putNotificationTemplate"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/admin/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Templates, by code
         * @description Those of the organisation and the defaults of the platform; with `orgId` only those of the organisation. A platform client that names none gets those of all.
         */
        get: operations["listNotificationTemplates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/admin/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Rules that send messages for events, the oldest first
         * @description Without `orgId`: those of the organisation and of the platform; for a platform client those of all organisations.
         */
        get: operations["listNotificationSubscriptions"];
        put?: never;
        /**
         * Create a rule that sends a message for each event of a type
         * @description The rule holds for events that are recorded after it. A platform client names `orgId`.
         */
        post: operations["createNotificationSubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/admin/subscriptions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A rule that sends messages for events */
        get: operations["getNotificationSubscription"];
        put?: never;
        post?: never;
        /** Delete a rule */
        delete: operations["deleteNotificationSubscription"];
        options?: never;
        head?: never;
        /**
         * Change, enable or disable a rule
         * @description Members that are left out stay as they are. `orgId` selects the rule, and does not move it.
         */
        patch: operations["changeNotificationSubscription"];
        trace?: never;
    };
    "/v1/notifications/admin/suppressions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Addresses that get no message, the oldest first
         * @description Without `orgId`: those of the organisation and of the platform; for a platform client those of all organisations.
         */
        get: operations["listSuppressions"];
        put?: never;
        /**
         * Suppress all messages to an address
         * @description E-mail addresses are compared without case. A platform client names `orgId`.
         */
        post: operations["addSuppression"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/admin/suppressions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** An address that gets no message */
        get: operations["getSuppression"];
        put?: never;
        post?: never;
        /** Let messages to an address pass again */
        delete: operations["removeSuppression"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/preferences/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Notification preferences of a user
         * @description For the user of X-Actor-Context, or with `notifications:admin` as a scope or a permission. The ETag is `"-1"` until one is set.
         */
        get: operations["getNotificationPreferences"];
        /**
         * Set notification preferences of a user
         * @description For the user of X-Actor-Context, or with `notifications:admin` as a scope or a permission. Entries that are left out stay as they are. An opt-out of `transactional` is stored and has no effect.
         */
        put: operations["setNotificationPreferences"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/unsubscribe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A page with a button that stops messages of a kind
         * @description Changes nothing.
         */
        get: operations["askToUnsubscribe"];
        put?: never;
        /**
         * Stop messages of a kind to a user
         * @description For the one-click button of mail programs, which send `List-Unsubscribe=One-Click` as a form of any kind, and for the page. Used again, it changes nothing. It has no effect if the user has opted in after the message.
         */
        post: operations["unsubscribe"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ai-reviews": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** AI reviews of the organisation, newest first */
        get: operations["listAiReviews"];
        put?: never;
        /**
         * Start an AI review of a case, or get the one that holds its slot
         * @description At most one review of a case and a product counts. Without `supersede`, a request for a taken slot answers 200 with that review. `productId` defaults to the product of the token. The platform uses the addresses of the images unchanged, adds no signature to them, and stores them encrypted. They do not belong to the content of a request with an Idempotency-Key: a repeat may have fresh ones.
         */
        post: operations["createAiReview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ai-reviews/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel an AI review that has not ended
         * @description The provider is not informed. A cancelled review keeps its slot until it is superseded.
         */
        post: operations["cancelAiReview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ai-reviews/{id}/supersede": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace an AI review by a new one with fresh image addresses
         * @description Any review that holds the slot of its case and product can be superseded, also after its end. The platform uses the addresses of the images unchanged, adds no signature to them, and stores them encrypted.
         */
        post: operations["supersedeAiReview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ai-reviews/{id}/raw": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The decrypted response of the provider, for audits
         * @description Each read is recorded with its client and its actor before the answer. Only administrative clients hold the scope.
         */
        get: operations["getRawAiReview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ai-reviews/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** An AI review with its images, result and lesions */
        get: operations["getAiReview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ai-reviews/{id}/provenance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What the result of an AI review stands on, signed, and provable without the platform
         * @description The consents, images, calls, result and human review of an ended AI review. Each fact names its event. `proofs` has the stored bytes of each event and the proof that the sealed log contains it. `npm run platform -- audit check` verifies all of it offline. An actor needs the permission of the same name too.
         */
        get: operations["getAiReviewProvenance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/human-review/tasks/{id}/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Claim a task for the user of the actor context, or extend the claim
         * @description The claim ends with its lease, which has the length that the policy now sets.
         */
        post: operations["claimHumanReviewTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/human-review/tasks/{id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Release the claim of a task
         * @description A task that nobody holds stays as it is.
         */
        post: operations["releaseHumanReviewTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/human-review/tasks/{id}/decide": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm, correct or reject each lesion of the AI review
         * @description Only the holder decides, until the lease ends. Where two opinions are required, the first one opens the task again for another user. If the two differ, a third one decides.
         */
        post: operations["decideHumanReviewTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/human-review/policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Which completed AI reviews of the organisation get a task */
        get: operations["getHumanReviewPolicy"];
        /**
         * Set which completed AI reviews of the organisation get a task
         * @description It applies to AI reviews that complete afterwards. Without rules no review gets a task.
         */
        put: operations["setHumanReviewPolicy"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/human-review/agreement": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How often clinicians confirm the AI, by provider version and category
         * @description Of the decisions from `from` up to `to`, which is not included. Default: the last 30 days. At most 366 days.
         */
        get: operations["getHumanReviewAgreement"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/human-review/tasks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A task of human review
         * @description Until the decision an actor sees only its own opinion. Notes are for actors with `human-review:decide`. A task of a product outside the actor's `product_ids` is missing.
         */
        get: operations["getHumanReviewTask"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/human-review/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tasks of human review, oldest first; for an actor those of the actor's products */
        get: operations["listHumanReviewTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Health: {
            /** @description ok, warning or failing */
            status: string;
            /** @description development or production */
            profile: string;
            /** @description Roles of the process that answers: api, projector, processor */
            roles?: string[];
            checks: {
                name: string;
                status: string;
                detail?: string;
            }[];
        };
        Problem: {
            /** Format: uri */
            type: string;
            title: string;
            status: number;
            detail: string;
            /** @description urn:uuid: and a UUID of this occurrence */
            instance: string;
            /**
             * @description Documented at /problems/{code}
             * @enum {unknown}
             */
            code: "validation-failed" | "malformed-body" | "malformed-request" | "token-request-invalid" | "org-required" | "path-not-supported" | "moment-in-future" | "one-subject-required" | "product-required" | "unknown-scope" | "template-variable-missing" | "idempotency-key-invalid" | "invalid-cursor" | "expired-cursor" | "mixed-image-mode" | "image-invalid" | "image-too-large" | "webhook-url-forbidden" | "template-render-failed" | "text-version-not-effective" | "consent-text-mismatch" | "role-organisation-mismatch" | "no-default-role" | "unknown-permission" | "unknown-purpose" | "one-filter-required" | "token-missing" | "token-invalid" | "token-expired" | "client-invalid" | "admin-secret-invalid" | "session-missing" | "csrf-refused" | "insufficient-scope" | "permission-missing" | "actor-context-missing" | "actor-context-invalid" | "actor-context-not-accepted" | "client-read-only" | "grant-not-permitted" | "platform-client-required" | "org-mismatch" | "user-not-active" | "not-found" | "patient-not-found" | "case-not-found" | "ai-review-result-missing" | "workflow-definition-not-found" | "consent-type-not-found" | "template-not-found" | "method-not-allowed" | "request-timeout" | "conflict" | "event-not-sealed" | "review-not-ended" | "provenance-too-large" | "history-too-large" | "idempotency-key-reused" | "assessment-not-awaiting-images" | "uploads-incomplete" | "image-not-awaiting-upload" | "patient-identifier-conflict" | "consent-type-code-in-use" | "consent-type-in-use" | "text-version-exists" | "email-in-use" | "role-name-in-use" | "suppression-exists" | "role-in-use" | "membership-exists" | "last-administrator" | "invalid-status-transition" | "user-shared" | "user-not-deactivated" | "permission-owned-by-other-service" | "service-owned-by-other-client" | "client-secret-limit" | "last-secret" | "authentication-method-fixed" | "scope-owned-by-other-service" | "role-limit" | "text-version-limit" | "rule-limit" | "subscription-limit" | "webhook-subscription-duplicate" | "webhook-subscription-disabled" | "projection-busy" | "projection-not-there" | "skip-refused" | "not-retryable" | "step-not-failing" | "webhook-delivery-pending" | "too-many-secrets" | "notification-not-failed" | "ai-review-not-cancellable" | "ai-review-already-superseded" | "case-closed" | "case-in-review" | "step-not-parked" | "workflow-instance-not-parked" | "workflow-instance-ended" | "task-claimed" | "task-not-claimed" | "opinion-given" | "task-decided" | "task-cancelled" | "legal-hold" | "second-person-required" | "erasure-not-waiting" | "subject-erased" | "cursor-lost" | "user-erased" | "export-expired" | "precondition-failed" | "body-too-large" | "command-too-large" | "unsupported-media-type" | "expectation-failed" | "quota-exceeded" | "too-many-streams" | "budget-exceeded" | "headers-too-large" | "internal-error" | "record-unreadable" | "transfer-coding-unsupported" | "identity-provider-rejected" | "read-model-behind" | "provenance-not-sealed" | "actor-context-unavailable" | "event-store-unavailable" | "access-log-unavailable" | "written-by-newer-version" | "database-unavailable" | "object-store-unavailable" | "identity-provider-unavailable" | "registration-under-way" | "shutting-down";
            request_id: string;
            retriable: boolean;
            errors?: {
                /** @description JSON pointer of the rejected member */
                pointer: string;
                detail: string;
                code: string;
                /** @description In a template, from 1 */
                line?: number;
                /** @description In a template, from 1 */
                column?: number;
            }[];
            /** @description Of insufficient-scope */
            required_scopes?: string[];
            /** @description Of actor-context-missing and permission-missing */
            required_permission?: string;
            /** @description Of step-not-parked */
            parked_step_id?: string;
            /** @description Of uploads-incomplete */
            missing_image_ids?: string[];
            /** @description Of template-variable-missing */
            missingVariables?: string[];
            /** @description Of cursor-lost */
            oldest_cursor?: string;
        };
        ProblemDescription: {
            code: string;
            /** Format: uri */
            type: string;
            status: number;
            title: string;
            /** @description The same request may succeed later without a change */
            retriable: boolean;
            /** @description When it happens and what to do */
            doc: string;
        };
        /** @description The payload of the event and its envelope. `/asyncapi.json` describes the payload of each type */
        PublicEvent: {
            /**
             * Format: uuid
             * @description The same in every delivery of the event
             */
            event_id: string;
            event_type: string;
            /** Format: date-time */
            occurred_at: string;
            schema_version: number;
            causation_id: string | null;
            correlation_id: string | null;
            hop: number;
        } & {
            [key: string]: unknown;
        };
        EventPage: {
            data: components["schemas"]["PublicEvent"][];
            /** @description Continues after these events, at the end of the channel too */
            next_cursor: string;
            /** @description More events are there now */
            has_more: boolean;
        };
        TimelineItem: {
            /** Format: uuid */
            event_id: string;
            type: string;
            stream: string;
            revision: number;
            /** @description In the form of X-Commit-Position */
            position: string;
            /**
             * Format: date-time
             * @description The instant that the event names for the fact
             */
            occurred_at: string;
            /** Format: date-time */
            recorded_at: string;
            actor: {
                /** @enum {unknown} */
                kind: "client" | "user" | "process" | "bootstrap";
                client_id: string | null;
                user_id: string | null;
                process: string | null;
            };
            request_id: string | null;
            correlation_id: string;
            causation_id: string | null;
            /** @description The stored members. Hashes of secrets and of requests are left out */
            data: {
                [key: string]: unknown;
            };
            /** @description Members of `data` that are null here, because they are stored encrypted */
            sealed_members: string[];
        };
        TimelineItemPage: {
            data: components["schemas"]["TimelineItem"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        AsOfReply: {
            /** Format: date-time */
            at: string;
            /** @description The last event that the answer contains, in the form of X-Commit-Position */
            position: string;
            /** @description The status of the route */
            status: number;
            /** @description The body of the route. Signed addresses are null */
            body: unknown;
        };
        AsOfPaths: {
            paths: string[];
        };
        AccessRecord: {
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            at: string;
            /** Format: uuid */
            org_id: string;
            client_id: string | null;
            user_id: string | null;
            patient_ids: string[];
            /** @description The user whose contact was shown */
            subject_user_id: string | null;
            categories: ("record" | "consent" | "images" | "results" | "raw_response" | "answers" | "notes" | "notifications" | "timeline" | "as_of" | "export" | "contact")[];
            /** @description `operationId` of the route; `webhook` and `email` for messages */
            operation: string;
            purpose: ("TREAT" | "HPAYMT" | "HOPERAT" | "HRESCH" | "PATRQT" | "ETREAT" | "PUBHLTH") | null;
            request_id: string | null;
            source_address: string | null;
            /** @description Answers within the window, the first one included */
            count: number;
        };
        AccessRecordPage: {
            data: components["schemas"]["AccessRecord"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        RequestExportBody: {
            /** Format: uuid */
            patient_id: string;
        };
        ExportRecord: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            org_id: string;
            /** Format: uuid */
            patient_id: string;
            /** @enum {unknown} */
            status: "running" | "finished" | "failed";
            /** Format: date-time */
            requested_at: string;
            /** @description When it finished or failed */
            finished_at: string | null;
            error_code: string | null;
            bytes: number | null;
            sha256: string | null;
            /** @description The ZIP file is deleted then */
            expires_at: string | null;
            download_url: string | null;
        };
        OperationsError: {
            /** @description The class of the error in the program. `put_off`: the step waits for something. `attempt_failed`: the work itself recorded that its attempt failed. `Answer`: the system answered so */
            class: string;
            code: string | null;
            host: string | null;
        };
        SealState: {
            /** @description Events of the newest seal */
            size: number;
            /** @description `commit/prepare` */
            position: string;
            /** Format: date-time */
            sealed_at: string;
            /** @description Since the seal, while events follow it. 0 if none does */
            lag_seconds: number;
            /** @description The witnesses of the newest seal that enough of them signed, with its number of events */
            witnesses: {
                name: string;
                size: number;
            }[];
            /** @description The newest end of `platform audit verify`, whichever process ran it */
            last_verification: {
                /** Format: date-time */
                at: string;
                /** @description Sealed events that were compared */
                size: number;
                faults: number;
                actor: {
                    /** @enum {unknown} */
                    kind: "user" | "client" | "command" | "bootstrap";
                    id: string | null;
                };
            } | null;
        };
        OperationsOverview: {
            /** Format: date-time */
            at: string;
            /** @enum {unknown} */
            status: "ok" | "warning" | "failing";
            /** @description The worst first */
            problems: {
                /** @enum {unknown} */
                code: "check-failing" | "calls-held" | "role-missing" | "process-silent" | "projection-failed" | "projection-behind" | "relay-blocked" | "work-failing" | "work-late" | "system-failing" | "endpoint-disabled" | "seal-late";
                /** @enum {unknown} */
                severity: "warning" | "failing";
                /** @description A name of the program, or the id of a process or failure group */
                subject: string;
                since: string | null;
                count: number;
                /** @description An address of the console, without its host */
                page: string;
                /** @description A heading of docs/operating.md */
                runbook: string;
            }[];
            systems: {
                /** @enum {unknown} */
                name: "provider" | "mail" | "chat" | "object_store" | "identity_provider";
                /**
                 * @description `failing`: three calls in a row failed, seen by any process
                 * @enum {unknown}
                 */
                status: "ok" | "failing" | "unused";
                last_success_at: string | null;
                failing_since: string | null;
                /** @description Calls that failed since the last success */
                failures: number;
                error: components["schemas"]["OperationsError"] | null;
            }[];
            steps: {
                due: number;
                waiting: number;
                leased: number;
                failing: number;
                parked: number;
                failed: number;
            };
            /** @description The read model or to-do list that is furthest behind the log. Null if none is behind */
            lag: {
                projector: string;
                /** @description At most 1000 are counted */
                events: number;
                /** @description Since it last moved */
                seconds: number;
            } | null;
            /** @description The work that has been due for longest, whether it failed or not */
            oldest_work: {
                process: string;
                step: string;
                /** Format: date-time */
                since: string;
            } | null;
            /** @description Null before the first seal, and while the event store is away */
            seal: components["schemas"]["SealState"] | null;
            processes: {
                /** Format: uuid */
                id: string;
                roles: string[];
                version: string;
                profile: string;
                /** Format: date-time */
                started_at: string;
                /** Format: date-time */
                seen_at: string;
                /**
                 * @description `silent`: no sign of life for 15 seconds
                 * @enum {unknown}
                 */
                status: "running" | "silent";
            }[];
            /** @description The last 60 minutes, the oldest first. The last one is not over */
            rates: {
                /** Format: date-time */
                minute: string;
                requests: number;
                /** @description Answers with HTTP 5xx, but not 501 */
                errors: number;
                p50_ms: number | null;
                p99_ms: number | null;
                /** @description Completed */
                assessments: number;
                assessments_failed: number;
                /** @description Of webhooks, accepted by their receivers */
                deliveries: number;
                /** @description Without a further try */
                deliveries_failed: number;
                /** @description Sent */
                notifications: number;
                /** @description Without a further try */
                notifications_failed: number;
            }[];
        };
        OperationsHealth: {
            /** @enum {unknown} */
            status: "ok" | "warning" | "failing";
            processes: {
                /** Format: uuid */
                id: string;
                roles: string[];
                version: string;
                profile: string;
                /** Format: date-time */
                started_at: string;
                /** Format: date-time */
                seen_at: string;
                /**
                 * @description `silent`: no sign of life for 15 seconds
                 * @enum {unknown}
                 */
                status: "running" | "silent";
                checks: {
                    name: string;
                    /** @enum {unknown} */
                    status: "ok" | "warning" | "failing";
                    detail: string | null;
                    /** Format: date-time */
                    since: string;
                }[];
            }[];
        };
        WorkItem: {
            /** Format: uuid */
            id: string;
            /** @enum {unknown} */
            kind: "step" | "delivery" | "notification" | "ai_review";
            process: string;
            step: string;
            org_id: string | null;
            /** @description The record that it is about */
            subject: {
                kind: string;
                /** Format: uuid */
                id: string;
            } | null;
            /**
             * @description `waiting`: nothing failed, its time has not come. `leased`: a worker has it. `failing`: the last run threw or was put off, or the last recorded attempt failed; a try follows. `parked`: too many runs in a row threw, so it is tried seldom. `failed`: it ended so, shown for `FAILED_RETENTION_SECONDS`; of AI reviews those that a system outside failed
             * @enum {unknown}
             */
            state: "due" | "waiting" | "leased" | "failing" | "parked" | "failed";
            /** @description Tries that failed */
            failures: number;
            first_failed_at: string | null;
            last_failed_at: string | null;
            /**
             * Format: date-time
             * @description If it has failed: when it ended
             */
            due_at: string;
            /** @description Null if it has failed */
            next_try_at: string | null;
            lease_until: string | null;
            error: components["schemas"]["OperationsError"] | null;
            version: string | null;
            /** @description The failure group */
            group_id: string | null;
            correlation_id: string | null;
            /** @description It fails, and a retry gives it its next try now. An AI review whose provider failed is never retryable */
            retryable: boolean;
        };
        WorkPage: {
            data: components["schemas"]["WorkItem"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        OperationsRetry: {
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            requested_at: string;
            actor: {
                /** @enum {unknown} */
                kind: "user" | "client" | "command" | "bootstrap";
                id: string | null;
            };
            reason: string | null;
            /** @description Items at the request */
            total: number;
            /** @description Items whose try has no outcome yet */
            waiting: number;
            done: number;
            /** @description Items that failed again. They go on by their own schedule */
            failed_again: number;
            /** @description Null while items are waiting */
            ended_at: string | null;
        };
        WorkDetail: {
            /** Format: uuid */
            id: string;
            /** @enum {unknown} */
            kind: "step" | "delivery" | "notification" | "ai_review";
            process: string;
            step: string;
            org_id: string | null;
            /** @description The record that it is about */
            subject: {
                kind: string;
                /** Format: uuid */
                id: string;
            } | null;
            /**
             * @description `waiting`: nothing failed, its time has not come. `leased`: a worker has it. `failing`: the last run threw or was put off, or the last recorded attempt failed; a try follows. `parked`: too many runs in a row threw, so it is tried seldom. `failed`: it ended so, shown for `FAILED_RETENTION_SECONDS`; of AI reviews those that a system outside failed
             * @enum {unknown}
             */
            state: "due" | "waiting" | "leased" | "failing" | "parked" | "failed";
            /** @description Tries that failed */
            failures: number;
            first_failed_at: string | null;
            last_failed_at: string | null;
            /**
             * Format: date-time
             * @description If it has failed: when it ended
             */
            due_at: string;
            /** @description Null if it has failed */
            next_try_at: string | null;
            lease_until: string | null;
            error: components["schemas"]["OperationsError"] | null;
            version: string | null;
            /** @description The failure group */
            group_id: string | null;
            correlation_id: string | null;
            /** @description It fails, and a retry gives it its next try now. An AI review whose provider failed is never retryable */
            retryable: boolean;
            /** @description The newest, for a day */
            retry: components["schemas"]["OperationsRetry"] | null;
        };
        SubjectStage: {
            /** @description Of an assessment: `accepted`, `images`, `consent`, `provider`, `result`, `findings`, `human_review`, `webhooks`, `notifications`. Other subjects have those of these that concern them, and `opened`, `opinions`, `decided`, `closed`, `sent` */
            name: string;
            /**
             * @description `waiting`: it has not begun, or waits for somebody else. `skipped`: nothing was to be done, or the subject ended before
             * @enum {unknown}
             */
            status: "done" | "running" | "waiting" | "failed" | "skipped";
            started_at: string | null;
            ended_at: string | null;
            /** @description Calls of outside systems, also those that failed */
            attempts: number;
            /** @description Of the newest attempt that failed, until one succeeds */
            error: components["schemas"]["OperationsError"] | null;
        };
        OperationsSubject: {
            /** @enum {unknown} */
            kind: "assessment" | "case" | "ai_review" | "task" | "delivery" | "notification";
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            org_id: string;
            /** @description As the record of the subject shows it */
            status: string;
            error_code: string | null;
            /** Format: date-time */
            created_at: string;
            ended_at: string | null;
            /** @description In the order in which a subject passes them */
            stages: components["schemas"]["SubjectStage"][];
            /** @description What is due for it and for what is related, the oldest first, at most 20 */
            work: components["schemas"]["WorkItem"][];
            /** @description At most 100 */
            related: {
                /** @enum {unknown} */
                kind: "assessment" | "case" | "ai_review" | "task" | "delivery" | "notification";
                /** Format: uuid */
                id: string;
            }[];
        };
        FailureGroup: {
            /** Format: uuid */
            id: string;
            /** @enum {unknown} */
            kind: "step" | "delivery" | "notification" | "ai_review";
            process: string;
            step: string;
            error: components["schemas"]["OperationsError"];
            count: number;
            states: {
                failing: number;
                parked: number;
                failed: number;
            };
            /** @description How many organisations have items in it */
            organisations: number;
            /** Format: date-time */
            first_failed_at: string;
            /** Format: date-time */
            last_failed_at: string;
            /** @description Versions of the program that failed */
            versions: string[];
            /** @description False for the group of class `other`, of AI reviews, and without items */
            retryable: boolean;
            /** @description Null if no item is left. The group stays for an hour after a retry */
            example: components["schemas"]["WorkItem"] | null;
            /** @description The newest, for a day */
            retry: components["schemas"]["OperationsRetry"] | null;
        };
        FailureGroupPage: {
            data: components["schemas"]["FailureGroup"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        ProjectionOperation: {
            /** Format: uuid */
            id: string;
            /** @enum {unknown} */
            action: "rebuild" | "verify" | "retry" | "rollback" | "skip";
            /**
             * @description `different`: the copy by the log has other rows, and does not serve
             * @enum {unknown}
             */
            status: "requested" | "running" | "done" | "different" | "failed";
            progress: number | null;
            /** Format: date-time */
            requested_at: string;
            actor: {
                /** @enum {unknown} */
                kind: "user" | "client" | "command" | "bootstrap";
                id: string | null;
            };
            detail: string | null;
        };
        ProjectionState: {
            name: string;
            version: number | null;
            /** @description Null for one that this program does not have */
            program_version: number | null;
            /**
             * @description `unseen`: no process has ever run it
             * @enum {unknown}
             */
            status: "running" | "failed" | "catching-up" | "stopped" | "unseen";
            position: string | null;
            /** @description At most 1000 are counted. Null while the event store is away */
            events_behind: number | null;
            seconds_since_move: number | null;
            failure: {
                /** Format: uuid */
                event_id: string;
                event_type: string;
                /** @description `commit/prepare` */
                position: string;
                reason: string;
            } | null;
            copies: {
                /** @enum {unknown} */
                kind: "next" | "previous" | "check";
                version: number;
                /** @description `commit/prepare` */
                position: string;
            }[];
            /** @description The newest */
            operation: components["schemas"]["ProjectionOperation"] | null;
        };
        ProjectionPage: {
            data: components["schemas"]["ProjectionState"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        RelayState: {
            channel: string;
            /**
             * @description `closed`: no process runs it
             * @enum {unknown}
             */
            state: "standby" | "running" | "blocked" | "closed";
            /** @description The channel contains everything of its sources up to here */
            position: string | null;
            seconds_since_move: number | null;
        };
        RelayPage: {
            data: components["schemas"]["RelayState"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        EndpointState: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            org_id: string;
            /** @description With a port that is not the usual one */
            host: string;
            /** @enum {unknown} */
            status: "active" | "disabled";
            disabled_reason: ("requested" | "gone" | "no_success") | null;
            /** @description The first failure after which nothing was delivered */
            failing_since: string | null;
            last_success_at: string | null;
            /** @description Deliveries, at most 10000 are counted */
            pending: number;
            /** @description Deliveries, at most 10000 are counted */
            failed: number;
        };
        EndpointPage: {
            data: components["schemas"]["EndpointState"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        OperatorAction: {
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            at: string;
            /** @enum {unknown} */
            action: "step.retry" | "group.retry" | "projection.rebuild" | "projection.verify" | "projection.retry" | "projection.rollback" | "projection.skip" | "console.sign_in" | "console.sign_out" | "operator.create" | "administrator_secret.use" | "log.verify";
            actor: {
                /** @enum {unknown} */
                kind: "user" | "client" | "command" | "bootstrap";
                id: string | null;
            };
            subject: {
                kind: string;
                id: string;
            };
            reason: string | null;
            /** @description Items of a retry, uses of the administrator secret, or faults that a verification of the log found */
            count: number;
        };
        OperatorActionPage: {
            data: components["schemas"]["OperatorAction"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        OperationsRetryBody: {
            /** @description It must not name a person */
            reason?: string;
        };
        RebuildProjectionBody: {
            /** @description It must not name a person */
            reason?: string;
            /** @description Serve the copy by the log also if the serving one has other rows */
            accept_difference?: boolean;
        };
        ProjectionOperationBody: {
            /** @description It must not name a person */
            reason?: string;
        };
        SkipProjectionEventBody: {
            /** @description Of the event at which it failed, `commit/prepare` */
            position: string;
            /** @description It must not name a person */
            reason: string;
        };
        PresentedTokenBody: {
            token: string;
            /** @description Ignored: there are access tokens only */
            token_type_hint?: string;
            client_id?: string;
            client_secret?: string;
            client_assertion_type?: string;
            client_assertion?: string;
        };
        IntrospectionReply: {
            /** @description Without any other member if false */
            active: boolean;
            scope?: string;
            client_id?: string;
            /** @enum {string} */
            token_type?: "Bearer";
            exp?: number;
            iat?: number;
            sub?: string;
            aud?: string;
            iss?: string;
            jti?: string;
            org_id?: string;
            product_id?: string;
        };
        TokenErrorReply: {
            error: string;
            error_description: string;
            type: string;
            title: string;
            status: number;
            detail: string;
        };
        AuthorizationServerMetadata: {
            /** Format: uri */
            issuer: string;
            /** Format: uri */
            token_endpoint: string;
            /** Format: uri */
            introspection_endpoint: string;
            /** Format: uri */
            revocation_endpoint: string;
            /** Format: uri */
            jwks_uri: string;
            /** Format: uri */
            service_documentation: string;
            grant_types_supported: "client_credentials"[];
            /** @description Empty: nobody logs in here */
            response_types_supported: string[];
            token_endpoint_auth_methods_supported: ("client_secret_basic" | "client_secret_post" | "private_key_jwt")[];
            token_endpoint_auth_signing_alg_values_supported: ("RS384" | "ES384")[];
            introspection_endpoint_auth_methods_supported: ("client_secret_basic" | "client_secret_post" | "private_key_jwt")[];
            introspection_endpoint_auth_signing_alg_values_supported: ("RS384" | "ES384")[];
            revocation_endpoint_auth_methods_supported: ("client_secret_basic" | "client_secret_post" | "private_key_jwt")[];
            revocation_endpoint_auth_signing_alg_values_supported: ("RS384" | "ES384")[];
        };
        TokenBody: {
            /** @enum {string} */
            grant_type: "client_credentials";
            client_id?: string;
            client_secret?: string;
            client_assertion_type?: string;
            client_assertion?: string;
            scope?: string;
        };
        TokenReply: {
            access_token: string;
            /** @enum {string} */
            token_type: "Bearer";
            /** @description Seconds */
            expires_in: number;
            /** @description Granted scopes, sorted, separated by spaces */
            scope: string;
        };
        JsonWebKeySet: {
            keys: {
                [key: string]: unknown;
            }[];
        };
        ClientJwks: {
            keys: ({
                /**
                 * Format: visible-text
                 * @description With at least one visible character
                 */
                kid: string;
                /** @enum {unknown} */
                kty: "RSA" | "EC";
                n?: string;
                e?: string;
                crv?: string;
                x?: string;
                y?: string;
            } & {
                [key: string]: unknown;
            })[];
        };
        RegisterClientBody: {
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            name: string;
            product_id?: string | null;
            trusted_actor_context?: boolean;
            jwks?: components["schemas"]["ClientJwks"];
            jwks_uri?: string;
            scopes: string[];
            org_id?: string | null;
        };
        OauthClientRecord: {
            /** Format: uuid */
            client_id: string;
            name: string;
            org_id: string | null;
            product_id: string | null;
            scopes: string[];
            trusted_actor_context: boolean;
            /** @enum {unknown} */
            status: "active" | "disabled";
            /**
             * @description A client with a secret may also send it in the form (client_secret_post)
             * @enum {unknown}
             */
            token_endpoint_auth_method: "client_secret_basic" | "private_key_jwt";
            jwks: {
                keys: {
                    kid: string;
                    /** @enum {unknown} */
                    kty: "RSA" | "EC";
                    n?: string;
                    e?: string;
                    crv?: string;
                    x?: string;
                    y?: string;
                }[];
            } | null;
            jwks_uri: string | null;
            secrets: {
                /** Format: uuid */
                id: string;
                /** Format: date-time */
                created_at: string;
                expires_at: string | null;
                last_used_at: string | null;
            }[];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** @description Only in the answer to the request that made it; a keyed repeat has none */
            client_secret?: string;
        };
        ChangeClientBody: {
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            name?: string;
            product_id?: string | null;
            trusted_actor_context?: boolean;
            jwks?: components["schemas"]["ClientJwks"];
            jwks_uri?: string;
            scopes?: string[];
            /** @enum {unknown} */
            status?: "active" | "disabled";
        };
        AddClientSecretBody: {
            expires_at?: string | null;
        };
        OauthClientSecretRecord: {
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            created_at: string;
            expires_at: string | null;
            last_used_at: string | null;
            /** @description Only in the answer to the request that made it; a keyed repeat has none */
            client_secret?: string;
        };
        RegisterScopesBody: {
            service_id: string;
            scopes: {
                scope: string;
                /**
                 * Format: visible-text
                 * @description With at least one visible character
                 */
                description: string;
            }[];
        };
        RegisterScopesReply: {
            service_id: string;
            created: string[];
            updated: string[];
            unchanged: string[];
        };
        OauthClientPage: {
            data: components["schemas"]["OauthClientRecord"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        OauthScopeRecord: {
            scope: string;
            service_id: string;
            description: string;
            /** Format: date-time */
            updated_at: string;
        };
        OauthScopePage: {
            data: components["schemas"]["OauthScopeRecord"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        RegisterPatientBody: {
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            given_name: string;
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            family_name: string;
            /**
             * Format: date
             * @description Calendar date, 1850 or later, not in the future
             */
            dob: string;
            identifiers?: {
                /**
                 * Format: visible-text
                 * @description With at least one visible character
                 */
                scheme: string;
                /**
                 * Format: visible-text
                 * @description With at least one visible character
                 */
                value: string;
            }[];
        };
        PatientRecord: {
            /** Format: uuid */
            id: string;
            given_name: string | null;
            family_name: string | null;
            dob: string | null;
            identifiers: {
                scheme: string;
                value: string;
            }[];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        CorrectPatientBody: {
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            given_name?: string;
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            family_name?: string;
            /**
             * Format: date
             * @description Calendar date, 1850 or later, not in the future
             */
            dob?: string;
            identifiers?: {
                /**
                 * Format: visible-text
                 * @description With at least one visible character
                 */
                scheme: string;
                /**
                 * Format: visible-text
                 * @description With at least one visible character
                 */
                value: string;
            }[];
        };
        OpenCaseBody: {
            /** Format: uuid */
            patient_id: string;
            /** Format: uuid */
            product_id?: string;
            /**
             * Format: uuid
             * @description Starts an instance of its newest version with the case
             */
            workflow_definition_id?: string;
            external_reference?: string;
            /** @description At most 16 levels and 64 KiB. Numbers follow the rule for all bodies */
            clinical_context?: {
                [key: string]: unknown;
            };
            custom_fields?: {
                [key: string]: string;
            };
        };
        CaseRecord: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            patient_id: string;
            /** @enum {unknown} */
            status: "open" | "in_review" | "closed";
            external_reference: string | null;
            product_id: string | null;
            workflow_instance_id: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        ErasePatientBody: {
            /** @enum {unknown} */
            reason: "person_request" | "retention_ended" | "legal_obligation" | "registered_by_mistake";
            /** @description Of the caller, for example a number of a letter. Stays readable, as the reason does */
            reference?: string;
        };
        ErasureRecord: {
            /** Format: uuid */
            patient_id: string;
            /** @enum {unknown} */
            status: "awaiting_approval" | "running" | "completed" | "cancelled";
            /** Format: date-time */
            requested_at: string;
            steps: {
                /** @enum {unknown} */
                name: "work_ended" | "identifiers_released" | "account_unlinked" | "objects_deleted" | "late_objects_deleted" | "keys_destroyed" | "ledger_written" | "vault_rewritten";
                done_at: string | null;
                error_code: string | null;
            }[];
            /** @description When the last backup that can still read the data ends. Null before the keys are destroyed */
            backups_until: string | null;
        };
        LegalHoldBody: {
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            reason: string;
            /**
             * Format: date-time
             * @description The hold ends then. Without it: when it is released
             */
            until?: string;
        };
        LegalHoldRecord: {
            reason: string | null;
            until: string | null;
            /** Format: date-time */
            placed_at: string;
            /** @description The user, or the client */
            placed_by: string;
        };
        CasePage: {
            data: components["schemas"]["CaseRecord"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        FindingRecord: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            case_id: string;
            /** @enum {unknown} */
            source: "ai" | "clinician";
            ai_review_id: string | null;
            lesion_number: number | null;
            body_site_id: string | null;
            coordinates: {
                x1: number;
                y1: number;
                x2: number;
                y2: number;
            } | null;
            /** Format: date-time */
            created_at: string;
        };
        FindingPage: {
            data: components["schemas"]["FindingRecord"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        DiagnosisRecord: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            finding_id: string;
            /** @enum {unknown} */
            source: "ai" | "clinician";
            /** @description The task of human review, for a diagnosis of a clinician */
            task_id: string | null;
            /** @enum {unknown} */
            status: "active" | "superseded";
            icd10: {
                code: string | null;
                term: string | null;
            };
            snomed: {
                code: string | null;
                term: string | null;
            };
            category: string | null;
            /** Format: date-time */
            created_at: string;
        };
        DiagnosisPage: {
            data: components["schemas"]["DiagnosisRecord"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        BodySiteRecord: {
            /** Format: uuid */
            id: string;
            /** @description SNOMED CT */
            code: string;
            display: string;
            parent_id: string | null;
        };
        BodySitePage: {
            data: components["schemas"]["BodySiteRecord"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        PatientPage: {
            data: components["schemas"]["PatientRecord"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        DeclareImageBody: {
            /** Format: uuid */
            case_id?: string;
            /** Format: uuid */
            patient_id?: string;
            /** @enum {unknown} */
            capture_type: "dermoscopic" | "macroscopic" | "other";
            /** @description image/jpeg or image/png, in any case */
            mime_type: string;
            /** @description Length of the upload. The upload_url then accepts no other length */
            size_bytes?: number;
            /** Format: uuid */
            body_site_id?: string;
        };
        ImageRecord: {
            /** Format: uuid */
            id: string;
            case_id: string | null;
            /** Format: uuid */
            patient_id: string;
            assessment_id: string | null;
            /** @enum {unknown} */
            capture_type: "dermoscopic" | "macroscopic" | "other";
            mime_type: string;
            body_site_id: string | null;
            /** @enum {unknown} */
            status: "awaiting_upload" | "received" | "processed";
            width: number | null;
            height: number | null;
            bytes: number | null;
            sha256: string | null;
            /** @description In the answer of the declaration, while the upload is awaited */
            upload_url?: string;
            /** Format: date-time */
            upload_url_expires_at?: string;
            /** @description Of a received image, in the answer of a GET by its id */
            download_url?: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        UploadUrlReply: {
            /** Format: uuid */
            image_id: string;
            /** @description Accepts a PUT of the bytes with the declared mime_type as Content-Type and without an Authorization header */
            upload_url: string;
            /** Format: date-time */
            upload_url_expires_at: string;
        };
        ImagePage: {
            data: components["schemas"]["ImageRecord"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        AssessmentRecord: {
            /** Format: uuid */
            id: string;
            /** @enum {unknown} */
            status: "awaiting_images" | "processing" | "completed" | "failed";
            /** Format: uuid */
            patient_id: string;
            case_id: string | null;
            external_reference?: string;
            images: {
                id: string;
                /** @enum {unknown} */
                capture_type: "dermoscopic" | "macroscopic" | "other";
                /** @enum {unknown} */
                status: "awaiting_upload" | "received" | "processed";
                upload_url?: string;
                download_url?: string;
            }[];
            result: {
                ai_provider: string;
                outcome: {
                    /** @description From 0 to 1; ordinal, not a probability. */
                    malignancy_score: number;
                    /** @description no_action, routine_follow_up, refer, urgent_referral, inconclusive; clients tolerate new values. */
                    recommendation: string;
                    score_basis: string;
                    scoring_version: string;
                    lesions: {
                        lesion_number: number;
                        category: string | null;
                        classification: string | null;
                        priority: number | null;
                        icd10: {
                            code: string | null;
                            term: string | null;
                        };
                        snomed: {
                            code: string | null;
                            term: string | null;
                        };
                        referral_flag: string | null;
                        referral_recommendation: string | null;
                        interpretation_guidance: string | null;
                    }[];
                    image_quality: {
                        image_id: string;
                        quality: string | null;
                    }[];
                };
                /** Format: date-time */
                completed_at: string;
            } | null;
            error: {
                code: string;
                message: string;
                retriable: boolean;
            } | null;
            next_poll_after_ms?: number;
            /** @description Human review of the newest AI review of the assessment that has one. It changes neither status nor result nor error. */
            review?: {
                /** @enum {unknown} */
                status: "open" | "decided" | "cancelled";
                decided_at: string | null;
                agrees_with_ai: boolean | null;
            };
        };
        SubscribeWebhookBody: {
            url: string;
            event_types: ("assessment.completed" | "assessment.failed" | "assessment.reviewed")[];
            description?: string | null;
            /** @enum {unknown} */
            payload_mode?: "full" | "thin";
            /** @description Default: both. They never change. */
            signature_schemes?: ("v1" | "v1a")[];
        };
        WebhookSubscriptionRecord: {
            /** Format: uuid */
            id: string;
            url: string;
            event_types: ("assessment.completed" | "assessment.failed" | "assessment.reviewed")[];
            /** @enum {unknown} */
            status: "active" | "disabled";
            description: string | null;
            /** @enum {unknown} */
            payload_mode: "full" | "thin";
            signature_schemes: ("v1" | "v1a")[];
            /** @description `whsec_` and base64, for `v1` */
            secret?: string;
            public_key_id: string | null;
            public_key: string | null;
            disabled_reason: ("requested" | "gone" | "no_success") | null;
            disabled_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        ChangeWebhookSubscriptionBody: {
            url?: string;
            event_types?: ("assessment.completed" | "assessment.failed" | "assessment.reviewed")[];
            description?: string | null;
            /** @enum {unknown} */
            payload_mode?: "full" | "thin";
            /** @enum {unknown} */
            status?: "active" | "disabled";
        };
        RotateWebhookSecretBody: {
            /** @description Time for which the previous secret also signs. Default: 86400 */
            grace_seconds?: number;
        };
        WebhookKeySet: {
            keys: {
                /** @enum {string} */
                kty: "OKP";
                /** @enum {string} */
                crv: "Ed25519";
                x: string;
                kid: string;
                /** @enum {string} */
                alg: "EdDSA";
                /** @enum {string} */
                use: "sig";
            }[];
        };
        WebhookSubscriptionPage: {
            data: components["schemas"]["WebhookSubscriptionRecord"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        /** @description `id` is the webhook-id of every attempt. `created_at` is the time of the event */
        WebhookDeliveryRecord: {
            /** Format: uuid */
            id: string;
            /** @enum {unknown} */
            event_type: "assessment.completed" | "assessment.failed" | "assessment.reviewed" | "webhook.test";
            assessment_id: string | null;
            /** @enum {unknown} */
            status: "pending" | "delivered" | "failed" | "cancelled";
            /** @description The newest 100 that have ended, in order */
            attempts: {
                /** Format: date-time */
                at: string;
                status_code: number | null;
                duration_ms: number;
                error_class: ("http_status" | "redirect" | "timeout" | "connect" | "dns" | "tls" | "address_forbidden" | "connection_failed" | "body_too_large" | "aborted") | null;
            }[];
            next_attempt_at: string | null;
            /** Format: date-time */
            created_at: string;
        };
        RecoverWebhooksBody: {
            /** Format: date-time */
            since: string;
            /** Format: date-time */
            until?: string;
        };
        RecoverWebhooksReply: {
            /** @description Number of deliveries found, at most 1000. A delivery that succeeds before its turn is not sent again */
            deliveries: number;
            has_more: boolean;
        };
        WebhookDeliveryPage: {
            data: components["schemas"]["WebhookDeliveryRecord"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        CreateAssessmentBody: {
            patient?: {
                /**
                 * Format: visible-text
                 * @description With at least one visible character
                 */
                given_name: string;
                /**
                 * Format: visible-text
                 * @description With at least one visible character
                 */
                family_name: string;
                /**
                 * Format: date
                 * @description Calendar date, 1850 or later, not in the future
                 */
                dob: string;
                identifiers?: {
                    /**
                     * Format: visible-text
                     * @description With at least one visible character
                     */
                    scheme: string;
                    /**
                     * Format: visible-text
                     * @description With at least one visible character
                     */
                    value: string;
                }[];
            };
            /** Format: uuid */
            patient_id?: string;
            finding: {
                /** @enum {unknown} */
                finding_type: "lesion" | "rash" | "patch" | "blemish" | "other";
                /** Format: uuid */
                body_site_id?: string;
            };
            images: {
                /** @enum {unknown} */
                capture_type: "dermoscopic" | "macroscopic" | "other";
                /** @description image/jpeg or image/png, in any case */
                mime_type: string;
                /** @description Length of the upload. The upload_url then accepts no other length */
                size_bytes?: number;
                /** @description Base64 of the image, at most 20 MiB decoded */
                data?: string;
            }[];
            external_reference?: string;
            /** @description At most 16 levels and 64 KiB. Numbers follow the rule for all bodies */
            clinical_context?: {
                [key: string]: unknown;
            };
            custom_fields?: {
                [key: string]: string;
            };
        };
        StartWorkflowInstanceBody: {
            /** Format: uuid */
            workflow_definition_id: string;
            /** Format: uuid */
            case_id: string;
        };
        WorkflowInstanceRecord: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            workflow_definition_id: string;
            definition_version: number;
            /** Format: uuid */
            case_id: string;
            /** @enum {unknown} */
            state: "running" | "parked" | "completed" | "failed" | "cancelled";
            parked_step: {
                step_id: string;
                /** @enum {unknown} */
                kind: "collect-questions" | "collect-images" | "decision" | "output";
                /** @description As in the definition */
                config: {
                    [key: string]: unknown;
                };
                /** Format: date-time */
                parked_at: string;
            } | null;
            /** @description The latest output of each step. Null after the data of the patient was erased */
            outputs: {
                [key: string]: {
                    [key: string]: unknown;
                } | null;
            };
            assessment_id: string | null;
            error: {
                /** @enum {unknown} */
                code: "no-next-step" | "workflow-too-long" | "no-images-collected" | "too-many-images" | "values-too-large" | "assessment-failed";
                message: string;
            } | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        AnswersOutput: {
            /** @description By question id. A date has the form YYYY-MM-DD */
            answers: {
                [key: string]: string | number | boolean;
            };
        };
        ImagesOutput: {
            image_ids: string[];
        };
        AdvanceWorkflowInstanceBody: {
            step_id: string;
            /** @description For questions `{ answers: { <question id>: value } }`, for images `{ image_ids }`. At most 16 levels and 64 KiB */
            output: components["schemas"]["AnswersOutput"] | components["schemas"]["ImagesOutput"];
        };
        ComparisonCondition: {
            /** @enum {unknown} */
            op: "eq" | "ne" | "gt" | "gte" | "lt" | "lte";
            /** @description `<step_id>.answers.<question id>` or `<step_id>.image_ids` */
            path: string;
            value: string | number | boolean;
        };
        InCondition: {
            /** @enum {unknown} */
            op: "in";
            /** @description `<step_id>.answers.<question id>` or `<step_id>.image_ids` */
            path: string;
            values: (string | number | boolean)[];
        };
        PresenceCondition: {
            /** @enum {unknown} */
            op: "exists";
            /** @description `<step_id>.answers.<question id>` or `<step_id>.image_ids` */
            path: string;
        };
        CombinedCondition: {
            /** @enum {unknown} */
            op: "and" | "or";
            conditions: components["schemas"]["WorkflowCondition"][];
        };
        NotCondition: {
            /** @enum {unknown} */
            op: "not";
            condition: components["schemas"]["WorkflowCondition"];
        };
        /** @description A comparison with a missing answer is false, `ne` too. At most 16 levels. */
        WorkflowCondition: components["schemas"]["ComparisonCondition"] | components["schemas"]["InCondition"] | components["schemas"]["PresenceCondition"] | components["schemas"]["CombinedCondition"] | components["schemas"]["NotCondition"];
        CollectQuestionsStep: {
            step_id: string;
            title: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "collect-questions";
            config: {
                questions: {
                    id: string;
                    text: string;
                    /** @enum {unknown} */
                    type: "text" | "number" | "boolean" | "date" | "choice";
                    required: boolean;
                    options?: string[];
                }[];
            };
            next: {
                when?: components["schemas"]["WorkflowCondition"];
                step_id: string;
            }[];
        };
        CollectImagesStep: {
            step_id: string;
            title: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "collect-images";
            config: {
                min: number;
                max: number;
                capture_types: ("dermoscopic" | "macroscopic" | "other")[];
            };
            next: {
                when?: components["schemas"]["WorkflowCondition"];
                step_id: string;
            }[];
        };
        DecisionStepBody: {
            step_id: string;
            title: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "decision";
            config?: Record<string, never>;
            next: {
                when?: components["schemas"]["WorkflowCondition"];
                step_id: string;
            }[];
        };
        OutputStepBody: {
            step_id: string;
            title: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "output";
            config: {
                values: {
                    [key: string]: string;
                };
                /** @enum {unknown} */
                effect?: "assessment";
                /** @enum {unknown} */
                finding_type?: "lesion" | "rash" | "patch" | "blemish" | "other";
            };
            next?: {
                when?: components["schemas"]["WorkflowCondition"];
                step_id: string;
            }[];
        };
        WorkflowStepBody: components["schemas"]["CollectQuestionsStep"] | components["schemas"]["CollectImagesStep"] | components["schemas"]["DecisionStepBody"] | components["schemas"]["OutputStepBody"];
        PublishDefinitionBody: {
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            name: string;
            start_step_id: string;
            steps: components["schemas"]["WorkflowStepBody"][];
        };
        DecisionStep: {
            step_id: string;
            title: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "decision";
            config: Record<string, never>;
            next: {
                when?: components["schemas"]["WorkflowCondition"];
                step_id: string;
            }[];
        };
        OutputStep: {
            step_id: string;
            title: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "output";
            config: {
                values: {
                    [key: string]: string;
                };
                /** @enum {unknown} */
                effect?: "assessment";
                /** @enum {unknown} */
                finding_type?: "lesion" | "rash" | "patch" | "blemish" | "other";
            };
            next: {
                when?: components["schemas"]["WorkflowCondition"];
                step_id: string;
            }[];
        };
        WorkflowStep: components["schemas"]["CollectQuestionsStep"] | components["schemas"]["CollectImagesStep"] | components["schemas"]["DecisionStep"] | components["schemas"]["OutputStep"];
        WorkflowDefinitionRecord: {
            /** Format: uuid */
            id: string;
            name: string;
            version: number;
            start_step_id: string;
            steps: components["schemas"]["WorkflowStep"][];
            /** Format: date-time */
            created_at: string;
        };
        WorkflowDefinitionSummary: {
            /** Format: uuid */
            id: string;
            name: string;
            version: number;
            start_step_id: string;
            /** Format: date-time */
            created_at: string;
        };
        WorkflowDefinitionPage: {
            data: components["schemas"]["WorkflowDefinitionSummary"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        WorkflowInstanceSummary: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            workflow_definition_id: string;
            definition_version: number;
            /** Format: uuid */
            case_id: string;
            /** @enum {unknown} */
            state: "running" | "parked" | "completed" | "failed" | "cancelled";
            parked_step: {
                step_id: string;
                /** @enum {unknown} */
                kind: "collect-questions" | "collect-images" | "decision" | "output";
                /** Format: date-time */
                parked_at: string;
            } | null;
            assessment_id: string | null;
            error: {
                /** @enum {unknown} */
                code: "no-next-step" | "workflow-too-long" | "no-images-collected" | "too-many-images" | "values-too-large" | "assessment-failed";
                message: string;
            } | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        WorkflowInstancePage: {
            data: components["schemas"]["WorkflowInstanceSummary"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        CreateConsentTypeBody: {
            /** Format: uuid */
            organisationId?: string;
            code: string;
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            displayName: string;
            description?: string | null;
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            legalBasis: string;
            required: boolean;
        };
        ConsentTypeRecord: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            organisationId: string;
            code: string;
            displayName: string;
            description: string | null;
            legalBasis: string;
            required: boolean;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        UpdateConsentTypeBody: {
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            displayName?: string;
            description?: string | null;
            required?: boolean;
        };
        PublishTextVersionBody: {
            /** @description BCP 47, for example en-GB */
            locale: string;
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            text: string;
            /** Format: date-time */
            effectiveFrom?: string;
        };
        ConsentTextVersionRecord: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            consentTypeId: string;
            locale: string;
            text: string;
            contentHash: string;
            /** Format: date-time */
            effectiveFrom: string;
            /** Format: date-time */
            createdAt: string;
        };
        RecordConsentBody: {
            /** Format: uuid */
            consent_type_id: string;
            /** Format: uuid */
            text_version_id: string;
            /** @enum {unknown} */
            decision: "granted" | "denied" | "withdrawn";
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            recorded_by?: string;
            /** Format: date-time */
            recorded_at?: string;
        };
        ConsentDecisionRecord: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            organisation_id: string;
            /** Format: uuid */
            patient_id: string;
            /** Format: uuid */
            consent_type_id: string;
            consent_type_code: string;
            /** Format: uuid */
            text_version_id: string;
            text_sha256: string;
            /** @enum {unknown} */
            decision: "granted" | "denied" | "withdrawn";
            /** Format: date-time */
            recorded_at: string;
            recorded_by: string | null;
            /** Format: date-time */
            created_at: string;
        };
        PatientConsentsReply: {
            data: {
                /** Format: uuid */
                consent_type_id: string;
                consent_type_code: string;
                /** @enum {unknown} */
                decision: "granted" | "denied" | "withdrawn";
                granted: boolean;
                /** Format: date-time */
                recorded_at: string;
                /** Format: uuid */
                text_version_id: string;
                text_version_current: boolean;
                reconsent_required: boolean;
            }[];
            next_cursor: string | null;
            has_more: boolean;
        };
        ConsentStatusReply: {
            granted: boolean;
            decision: ("granted" | "denied" | "withdrawn") | null;
            recorded_at: string | null;
            text_version_id: string | null;
            text_version_current: boolean | null;
            reconsent_required: boolean | null;
        };
        ConsentCheckReply: {
            consents: {
                [key: string]: boolean;
            };
        };
        ConsentHistoryPage: {
            data: components["schemas"]["ConsentDecisionRecord"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        ConsentReceiptReply: {
            /** @description Compact JWS; its keys are in /v1/auth/.well-known/jwks.json */
            receipt: string;
        };
        ConsentRecordsReply: {
            /** @enum {unknown} */
            status: "granted" | "denied" | "withdrawn" | "none";
            granted: boolean;
            /** Format: uuid */
            patientId: string;
            consentTypeCode: string;
            record: components["schemas"]["ConsentDecisionRecord"] | null;
            data: components["schemas"]["ConsentDecisionRecord"][];
        };
        ConsentTypePage: {
            data: components["schemas"]["ConsentTypeRecord"][];
            nextCursor: string | null;
            hasMore: boolean;
        };
        ConsentTypeDetails: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            organisationId: string;
            code: string;
            displayName: string;
            description: string | null;
            legalBasis: string;
            required: boolean;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            textVersions: components["schemas"]["ConsentTextVersionRecord"][];
            /** @description Whether the list of text versions contains older ones */
            hasMoreTextVersions: boolean;
        };
        ConsentTextVersionPage: {
            data: components["schemas"]["ConsentTextVersionRecord"][];
            nextCursor: string | null;
            hasMore: boolean;
        };
        PractitionerProfileBody: {
            professionalId?: string | null;
            professionalIdType?: string | null;
            speciality?: string | null;
            credentials?: string | null;
        };
        PatientAccountBody: {
            clinicalPatientId?: string | null;
            contactPreferences?: {
                [key: string]: boolean;
            } | null;
        };
        CreateUserBody: {
            /** @description An address to which mails are sent: `local@domain` with a local part in ASCII. Blanks around it are removed. A domain in another script is kept in its `xn--` form. Compared without case. */
            email: string;
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            displayName: string;
            /** @enum {unknown} */
            userType: "clinician" | "admin" | "patient";
            /** Format: uuid */
            organisationId?: string;
            /** Format: uuid */
            roleId?: string;
            locale?: string | null;
            practitionerProfile?: components["schemas"]["PractitionerProfileBody"];
            patientAccount?: components["schemas"]["PatientAccountBody"];
        };
        MembershipRecord: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            userId: string;
            /** Format: uuid */
            organisationId: string;
            /** Format: uuid */
            roleId: string;
            role: {
                /** Format: uuid */
                id: string;
                name: string;
            };
            products: string[];
            /** Format: date-time */
            createdAt: string;
        };
        PractitionerProfileRecord: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            userId: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            professionalId: string | null;
            professionalIdType: string | null;
            speciality: string | null;
            credentials: string | null;
        };
        PatientAccountRecord: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            userId: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            clinicalPatientId: string | null;
            contactPreferences: {
                [key: string]: boolean;
            } | null;
        };
        UserDetailRecord: {
            /** Format: uuid */
            id: string;
            externalId: string;
            email: string | null;
            displayName: string | null;
            locale: string | null;
            /** @enum {unknown} */
            userType: "clinician" | "admin" | "patient";
            /** @enum {unknown} */
            status: "active" | "suspended" | "deactivated";
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            memberships: components["schemas"]["MembershipRecord"][];
            practitionerProfile?: components["schemas"]["PractitionerProfileRecord"];
            patientAccount?: components["schemas"]["PatientAccountRecord"];
        };
        ChangeUserBody: {
            /** @description An address to which mails are sent: `local@domain` with a local part in ASCII. Blanks around it are removed. A domain in another script is kept in its `xn--` form. Compared without case. */
            email?: string;
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            displayName?: string;
            /** @enum {unknown} */
            status?: "active" | "suspended" | "deactivated";
            locale?: string | null;
            practitionerProfile?: components["schemas"]["PractitionerProfileBody"];
            patientAccount?: components["schemas"]["PatientAccountBody"];
        };
        UserRecord: {
            /** Format: uuid */
            id: string;
            externalId: string;
            email: string | null;
            displayName: string | null;
            locale: string | null;
            /** @enum {unknown} */
            userType: "clinician" | "admin" | "patient";
            /** @enum {unknown} */
            status: "active" | "suspended" | "deactivated";
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        ErasedUserReply: {
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            status: "erased";
            /** Format: date-time */
            erasedAt: string;
        };
        PasswordResetReply: {
            /** @enum {string} */
            status: "requested";
        };
        ChangeMeBody: {
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            displayName?: string;
            locale?: string | null;
            contactPreferences?: {
                [key: string]: boolean;
            } | null;
        };
        AddMembershipBody: {
            /** Format: uuid */
            organisationId: string;
            /** Format: uuid */
            roleId?: string;
        };
        ChangeMembershipBody: {
            /** Format: uuid */
            roleId: string;
        };
        GrantProductBody: {
            /**
             * Format: visible-text
             * @description With at least one visible character, and not `.` or `..`
             */
            productId: string;
        };
        ProductAccessRecord: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            orgMembershipId: string;
            productId: string;
            /** Format: date-time */
            createdAt: string;
        };
        CreateRoleBody: {
            /** Format: uuid */
            organisationId: string;
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            name: string;
            description?: string | null;
            isDefault?: boolean;
            permissions?: string[];
        };
        RoleRecord: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            organisationId: string;
            name: string;
            description: string | null;
            isDefault: boolean;
            permissions: string[];
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        ChangeRoleBody: {
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            name?: string;
            description?: string | null;
            isDefault?: boolean;
            permissions?: string[];
        };
        RegisterPermissionsBody: {
            serviceId: string;
            permissions: {
                permission: string;
                description?: string | null;
            }[];
        };
        RegisterPermissionsReply: {
            serviceId: string;
            created: string[];
            updated: string[];
            unchanged: string[];
        };
        OwnUserRecord: {
            /** Format: uuid */
            id: string;
            externalId: string;
            email: string | null;
            displayName: string | null;
            locale: string | null;
            /** @enum {unknown} */
            userType: "clinician" | "admin" | "patient";
            /** @enum {unknown} */
            status: "active" | "suspended" | "deactivated";
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            memberships: components["schemas"]["MembershipRecord"][];
            practitionerProfile?: components["schemas"]["PractitionerProfileRecord"];
            patientAccount?: components["schemas"]["PatientAccountRecord"];
            roles: {
                /** Format: uuid */
                id: string;
                name: string;
            }[];
            permissions: string[];
        };
        ActorContextRecord: {
            /** Format: uuid */
            user_id: string;
            external_user_id: string;
            display_name: string | null;
            /** @enum {unknown} */
            user_type: "clinician" | "admin" | "patient";
            /** Format: uuid */
            org_id: string;
            /** @description Name of the role */
            role: string;
            permissions: string[];
            product_ids: string[];
            practitioner?: {
                professional_id: string | null;
                professional_id_type: string | null;
                speciality: string | null;
            };
            /** Format: date-time */
            issued_at: string;
            /** Format: date-time */
            expires_at: string;
            /** @description The same claims as a signed token, for X-Actor-Context. At most 8 KiB */
            token: string;
        };
        OwnAccessRecord: {
            /** Format: date-time */
            at: string;
            /** @description The id of the organisation. The platform has no names of organisations */
            organisation: string;
            client: string | null;
            user: string | null;
            /** @description `operationId` of the route; `webhook` and `email` for messages */
            operation: string;
            categories: ("record" | "consent" | "images" | "results" | "raw_response" | "answers" | "notes" | "notifications" | "timeline" | "as_of" | "export" | "contact")[];
            purpose: ("TREAT" | "HPAYMT" | "HOPERAT" | "HRESCH" | "PATRQT" | "ETREAT" | "PUBHLTH") | null;
            /** @description Answers within the window, the first one included */
            count: number;
        };
        OwnAccessRecordPage: {
            data: components["schemas"]["OwnAccessRecord"][];
            next_cursor: string | null;
            has_more: boolean;
        };
        UserPage: {
            data: components["schemas"]["UserRecord"][];
            nextCursor: string | null;
            hasMore: boolean;
        };
        UserContactRecord: {
            /** Format: uuid */
            userId: string;
            email: string | null;
            displayName: string | null;
            locale: string | null;
            /** @enum {unknown} */
            status: "active" | "suspended" | "deactivated";
        };
        RolePage: {
            data: components["schemas"]["RoleRecord"][];
            nextCursor: string | null;
            hasMore: boolean;
        };
        PermissionRecord: {
            /** Format: uuid */
            id: string;
            permission: string;
            serviceId: string;
            description: string | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        PermissionPage: {
            data: components["schemas"]["PermissionRecord"][];
            nextCursor: string | null;
            hasMore: boolean;
        };
        UserRecipient: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "user";
            /** Format: uuid */
            ref: string;
        };
        ChannelRecipient: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "slackChannel";
            ref: string;
        };
        MailRecipient: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "email";
            ref: string;
        };
        SendNotificationBody: {
            templateCode: string;
            recipient: components["schemas"]["UserRecipient"] | components["schemas"]["ChannelRecipient"] | components["schemas"]["MailRecipient"];
            /** @description At most 64 KiB */
            variables: {
                [key: string]: unknown;
            };
            /** @description Published with events, so without personal data */
            correlationId?: string;
            /**
             * Format: uuid
             * @description The patient whom the variables concern: erased with this patient
             */
            patientId?: string;
            /** Format: uuid */
            organisationId?: string;
        };
        NotificationAccepted: {
            /** Format: uuid */
            id: string;
            /** @enum {unknown} */
            status: "pending" | "queued" | "sending" | "sent" | "failed" | "suppressed";
        };
        RetryFailedNotificationsBody: {
            /** @enum {unknown} */
            errorCode: "phi_policy_violation" | "invalid_recipient" | "provider_5xx" | "provider_4xx" | "provider_429" | "provider_timeout" | "provider_auth_failed" | "recipient_not_found" | "recipient_unresolvable" | "user_lookup_unavailable" | "template_not_found" | "template_render_failed" | "delivery_unknown";
            /**
             * Format: date-time
             * @description Failures from this instant on
             */
            since: string;
            /** Format: uuid */
            organisationId?: string;
        };
        RetryFailedNotificationsReply: {
            /** @description At most 1000 */
            retried: number;
            /** @description Send another request for the rest */
            hasMore: boolean;
        };
        ReEnqueueStuckNotificationsBody: {
            /** @default 300 */
            olderThanSeconds?: number;
            /** @default 500 */
            limit?: number;
            /** @default false */
            dryRun?: boolean;
            /** Format: uuid */
            organisationId?: string;
        };
        ReEnqueueStuckNotificationsReply: {
            requeued: number;
            ids: string[];
            /** @description Beyond `limit`, or changed meanwhile */
            skipped: number;
        };
        NotificationRecord: {
            /** Format: uuid */
            id: string;
            templateCode: string;
            templateVersion: number | null;
            /** @enum {unknown} */
            channel: "email" | "slack";
            locale: string;
            /** @enum {unknown} */
            recipientType: "user" | "slackChannel" | "email";
            recipientRef: string | null;
            resolvedAddress: string | null;
            /**
             * Format: uuid
             * @description Absent if the event of a rule of the platform named no organisation
             */
            orgId?: string;
            category: ("transactional" | "clinical" | "marketing" | "operational") | null;
            phi: boolean;
            /** @enum {unknown} */
            status: "pending" | "queued" | "sending" | "sent" | "failed" | "suppressed";
            attempts: number;
            nextAttemptAt: string | null;
            providerMessageId: string | null;
            errorCode: ("phi_policy_violation" | "invalid_recipient" | "provider_5xx" | "provider_4xx" | "provider_429" | "provider_timeout" | "provider_auth_failed" | "recipient_not_found" | "recipient_unresolvable" | "user_lookup_unavailable" | "template_not_found" | "template_render_failed" | "delivery_unknown") | null;
            errorDetail: string | null;
            suppressionReason: ("preference_opt_out" | "suppression_list") | null;
            correlationId: string | null;
            /** @description `event:` and the id of the event, or `api:` and the client id */
            triggerSource: string;
            /** Format: date-time */
            createdAt: string;
            sentAt: string | null;
            /** Format: date-time */
            updatedAt: string;
        };
        NotificationPage: {
            data: components["schemas"]["NotificationRecord"][];
            nextCursor: string | null;
            hasMore: boolean;
        };
        NotificationWithAttempts: {
            /** Format: uuid */
            id: string;
            templateCode: string;
            templateVersion: number | null;
            /** @enum {unknown} */
            channel: "email" | "slack";
            locale: string;
            /** @enum {unknown} */
            recipientType: "user" | "slackChannel" | "email";
            recipientRef: string | null;
            resolvedAddress: string | null;
            /**
             * Format: uuid
             * @description Absent if the event of a rule of the platform named no organisation
             */
            orgId?: string;
            category: ("transactional" | "clinical" | "marketing" | "operational") | null;
            phi: boolean;
            /** @enum {unknown} */
            status: "pending" | "queued" | "sending" | "sent" | "failed" | "suppressed";
            attempts: number;
            nextAttemptAt: string | null;
            providerMessageId: string | null;
            errorCode: ("phi_policy_violation" | "invalid_recipient" | "provider_5xx" | "provider_4xx" | "provider_429" | "provider_timeout" | "provider_auth_failed" | "recipient_not_found" | "recipient_unresolvable" | "user_lookup_unavailable" | "template_not_found" | "template_render_failed" | "delivery_unknown") | null;
            errorDetail: string | null;
            suppressionReason: ("preference_opt_out" | "suppression_list") | null;
            correlationId: string | null;
            /** @description `event:` and the id of the event, or `api:` and the client id */
            triggerSource: string;
            /** Format: date-time */
            createdAt: string;
            sentAt: string | null;
            /** Format: date-time */
            updatedAt: string;
            /** @description The newest 100, in order */
            deliveryAttempts: {
                /** Format: uuid */
                id: string;
                /** Format: uuid */
                notificationId: string;
                attemptNumber: number;
                /** @description The provider, or the part that ended the attempt, such as `user-management` or `suppressions` */
                providerName: string;
                request: {
                    [key: string]: string | number | boolean | null;
                };
                response: {
                    [key: string]: string | number | boolean | null;
                } | null;
                success: boolean;
                errorCode: ("phi_policy_violation" | "invalid_recipient" | "provider_5xx" | "provider_4xx" | "provider_429" | "provider_timeout" | "provider_auth_failed" | "recipient_not_found" | "recipient_unresolvable" | "user_lookup_unavailable" | "template_not_found" | "template_render_failed" | "delivery_unknown") | null;
                latencyMs: number;
                /** Format: date-time */
                createdAt: string;
            }[];
        };
        NotificationFailure: {
            /** Format: uuid */
            notificationId: string;
            templateCode: string;
            /** @enum {unknown} */
            channel: "email" | "slack";
            /**
             * Format: uuid
             * @description Absent if the event of a rule of the platform named no organisation
             */
            orgId?: string;
            /** @enum {unknown} */
            errorCode: "phi_policy_violation" | "invalid_recipient" | "provider_5xx" | "provider_4xx" | "provider_429" | "provider_timeout" | "provider_auth_failed" | "recipient_not_found" | "recipient_unresolvable" | "user_lookup_unavailable" | "template_not_found" | "template_render_failed" | "delivery_unknown";
            attempts: number;
            /** Format: date-time */
            failedAt: string;
            correlationId: string | null;
        };
        NotificationFailurePage: {
            data: components["schemas"]["NotificationFailure"][];
            nextCursor: string | null;
            hasMore: boolean;
        };
        EventInboxEntry: {
            /** Format: uuid */
            eventId: string;
            eventType: string;
            /** Format: date-time */
            receivedAt: string;
            /**
             * Format: date-time
             * @description When the last rule until now was processed
             */
            processedAt: string;
            notificationIds: string[];
            /** @description Each rule that the event met */
            rules: {
                /** Format: uuid */
                subscriptionId: string;
                /** @description Null if the event made no notification for the rule */
                notificationId: string | null;
                discardReason: ("event_too_old" | "hop") | null;
            }[];
        };
        EventInboxPage: {
            data: components["schemas"]["EventInboxEntry"][];
            nextCursor: string | null;
            hasMore: boolean;
        };
        RenderPreviewBody: {
            /** @description Sample variables */
            variables: {
                [key: string]: unknown;
            };
            /** @description A draft, in place of the stored template */
            template?: {
                /** @enum {unknown} */
                channel?: "email" | "slack";
                /** @description BCP 47; default en-GB */
                locale?: string;
                /** @enum {unknown} */
                category: "transactional" | "clinical" | "marketing" | "operational";
                /** @description Messages made from it contain personal health information */
                phi: boolean;
                /** @description Mails only */
                subject?: string | null;
                /** @description Handlebars source, at most 64 KiB and 1,500 tokens: HTML for mails, plain text for chat */
                bodyTemplate: string;
            };
        };
        RenderPreviewReply: {
            subject: string | null;
            /** @description Null if a variable is missing */
            body: string | null;
            /** @description The plain part of a mail */
            text: string | null;
            phiValidation: {
                ok: boolean;
                violations: {
                    /** @enum {unknown} */
                    rule: "phi-on-chat" | "phi-in-subject" | "unknown-variable-in-phi";
                    path: string;
                    detail: string;
                }[];
            };
            missingVariables: string[];
            unusedVariables: string[];
        };
        PutTemplateBody: {
            /** @enum {unknown} */
            channel?: "email" | "slack";
            /** @description BCP 47; default en-GB */
            locale?: string;
            /** @enum {unknown} */
            category: "transactional" | "clinical" | "marketing" | "operational";
            /** @description Messages made from it contain personal health information */
            phi: boolean;
            /** @description Mails only */
            subject?: string | null;
            /** @description Handlebars source, at most 64 KiB and 1,500 tokens: HTML for mails, plain text for chat */
            bodyTemplate: string;
            /** @description Null, by platform clients only: the default of all */
            orgId?: string | null;
        };
        SavedNotificationTemplate: {
            /** Format: uuid */
            id: string;
            code: string;
            /** @enum {unknown} */
            channel: "email" | "slack";
            locale: string;
            version: number;
            /** @enum {unknown} */
            source: "seeded" | "custom";
            /** @description Null: the default of every organisation */
            orgId: string | null;
            /** Format: date-time */
            updatedAt: string;
            /** @enum {unknown} */
            category: "transactional" | "clinical" | "marketing" | "operational";
            phi: boolean;
            subject: string | null;
            bodyTemplate: string;
            /** Format: date-time */
            createdAt: string;
            warnings: string[];
        };
        NotificationTemplateRecord: {
            /** Format: uuid */
            id: string;
            code: string;
            /** @enum {unknown} */
            channel: "email" | "slack";
            locale: string;
            version: number;
            /** @enum {unknown} */
            source: "seeded" | "custom";
            /** @description Null: the default of every organisation */
            orgId: string | null;
            /** Format: date-time */
            updatedAt: string;
            /** @enum {unknown} */
            category: "transactional" | "clinical" | "marketing" | "operational";
            phi: boolean;
            subject: string | null;
            bodyTemplate: string;
            /** Format: date-time */
            createdAt: string;
        };
        NotificationTemplatePage: {
            data: components["schemas"]["NotificationTemplateRecord"][];
            nextCursor: string | null;
            hasMore: boolean;
        };
        NotificationTemplateDetails: {
            /** Format: uuid */
            id: string;
            code: string;
            /** @enum {unknown} */
            channel: "email" | "slack";
            locale: string;
            version: number;
            /** @enum {unknown} */
            source: "seeded" | "custom";
            /** @description Null: the default of every organisation */
            orgId: string | null;
            /** Format: date-time */
            updatedAt: string;
            /** @enum {unknown} */
            category: "transactional" | "clinical" | "marketing" | "operational";
            phi: boolean;
            subject: string | null;
            bodyTemplate: string;
            /** Format: date-time */
            createdAt: string;
            /** @description The other templates of the code that the caller sees */
            variants: {
                /** Format: uuid */
                id: string;
                code: string;
                /** @enum {unknown} */
                channel: "email" | "slack";
                locale: string;
                version: number;
                /** @enum {unknown} */
                source: "seeded" | "custom";
                /** @description Null: the default of every organisation */
                orgId: string | null;
                /** Format: date-time */
                updatedAt: string;
            }[];
        };
        UserRecipientRule: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "user" | "patient";
            /** @description Of a user or patient rule: dotted path to the id in the payload of the event, at most eight names. `patient` finds the active member with this clinical patient id. */
            path: string;
        };
        ChannelRecipientRule: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "slackChannel";
            /** @description Of a slackChannel rule: the channel */
            channel: string;
        };
        RecipientRule: components["schemas"]["UserRecipientRule"] | components["schemas"]["ChannelRecipientRule"];
        CreateNotificationSubscriptionBody: {
            /** @description Name of an event with dots, like `assessment.completed` */
            eventType: string;
            templateCode: string;
            recipientRule: components["schemas"]["RecipientRule"];
            /** @description For platform clients, who must name it in a POST. Null: the platform */
            orgId?: string | null;
            /** @default true */
            enabled?: boolean;
        };
        NotificationSubscriptionRecord: {
            /** Format: uuid */
            id: string;
            /** @description Null: of the platform, for every organisation */
            orgId: string | null;
            eventType: string;
            templateCode: string;
            recipientRule: components["schemas"]["RecipientRule"];
            enabled: boolean;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        ChangeNotificationSubscriptionBody: {
            enabled?: boolean;
            templateCode?: string;
            recipientRule?: components["schemas"]["RecipientRule"];
            /** @description For platform clients, who must name it in a POST. Null: the platform */
            orgId?: string | null;
        };
        MailSuppression: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            channel: "email";
            address: string;
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            reason: string;
            /** @description For platform clients, who must name it in a POST. Null: the platform */
            orgId?: string | null;
        };
        ChatSuppression: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            channel: "slack";
            address: string;
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            reason: string;
            /** @description For platform clients, who must name it in a POST. Null: the platform */
            orgId?: string | null;
        };
        AddSuppressionBody: components["schemas"]["MailSuppression"] | components["schemas"]["ChatSuppression"];
        SuppressionRecord: {
            /** Format: uuid */
            id: string;
            /** @description Null: of the platform, for every organisation */
            orgId: string | null;
            /** @enum {unknown} */
            channel: "email" | "slack";
            address: string | null;
            reason: string | null;
            /** Format: date-time */
            createdAt: string;
        };
        SetNotificationPreferencesBody: {
            /** @enum {unknown} */
            category: "transactional" | "clinical" | "marketing" | "operational";
            /** @enum {unknown} */
            channel: "email" | "slack";
            optedOut: boolean;
        }[];
        NotificationPreference: {
            /** Format: uuid */
            userId: string;
            /** @description Organisation in which it was last set; null if it was never set, or set in another organisation */
            orgId: string | null;
            /** @enum {unknown} */
            category: "transactional" | "clinical" | "marketing" | "operational";
            /** @enum {unknown} */
            channel: "email" | "slack";
            optedOut: boolean;
            /** @description The opt-out holds messages back. Never for `transactional` */
            effective: boolean;
            updatedAt: string | null;
        };
        NotificationPreferences: {
            /** @description Every category with every channel */
            data: components["schemas"]["NotificationPreference"][];
        };
        NotificationSubscriptionPage: {
            data: components["schemas"]["NotificationSubscriptionRecord"][];
            nextCursor: string | null;
            hasMore: boolean;
        };
        SuppressionPage: {
            data: components["schemas"]["SuppressionRecord"][];
            nextCursor: string | null;
            hasMore: boolean;
        };
        CreateAiReviewBody: {
            /** Format: uuid */
            caseId: string;
            /** Format: uuid */
            productId?: string;
            /**
             * Format: uuid
             * @description Must be the patient of the case
             */
            patientId?: string;
            images: {
                /** Format: uuid */
                imageId: string;
                /** @enum {unknown} */
                imageType: "DERMOSCOPIC" | "MACROSCOPIC";
                presignedUrl: string;
                /** Format: date-time */
                presignedUrlExpiresAt: string;
                deviceManufacturer?: string;
                deviceModel?: string;
            }[];
            /** @description Replace the review that holds the slot */
            supersede?: boolean;
            /** @description Free of personal data */
            correlationId?: string;
        };
        CreateAiReviewReply: {
            /** Format: uuid */
            aiReviewId: string;
            /** @enum {unknown} */
            status: "pending" | "in_progress" | "awaiting_result" | "completed" | "failed" | "cancelled" | "superseded";
        };
        CancelAiReviewReply: {
            /** Format: uuid */
            aiReviewId: string;
            /** @enum {string} */
            status: "cancelled";
        };
        SupersedeAiReviewBody: {
            /** @description Free of personal data: it is published */
            reason?: string;
            images: {
                /** Format: uuid */
                imageId: string;
                /** @enum {unknown} */
                imageType: "DERMOSCOPIC" | "MACROSCOPIC";
                presignedUrl: string;
                /** Format: date-time */
                presignedUrlExpiresAt: string;
                deviceManufacturer?: string;
                deviceModel?: string;
            }[];
        };
        SupersedeAiReviewReply: {
            /** Format: uuid */
            aiReviewId: string;
            /** @enum {unknown} */
            status: "pending" | "in_progress" | "awaiting_result" | "completed" | "failed" | "cancelled" | "superseded";
            /** Format: uuid */
            supersededAiReviewId: string;
        };
        /** @description The answer of the provider, unchanged */
        ProviderResponse: {
            [key: string]: unknown;
        };
        AiReviewRecord: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            caseId: string;
            /** Format: uuid */
            productId: string;
            /** Format: uuid */
            orgId: string;
            /** @description The patient of the case. Null until the review of another service starts. */
            patientId: string | null;
            /** @enum {unknown} */
            status: "pending" | "in_progress" | "awaiting_result" | "completed" | "failed" | "cancelled" | "superseded";
            /** @description Result polls. */
            attemptCount: number;
            correlationId: string | null;
            providerCaseId: number | null;
            providerChecksum: string | null;
            /** @description Of a processed case, also if the review failed. */
            providerVersion: string | null;
            /** @description Additive: the verdict of the provider on a processed case, also if the review failed. */
            analysisResult: string | null;
            /** @description Why the review was cancelled. It stays after the review is superseded. */
            cancelReason: ("requested" | "consent_withdrawn" | "subject_erased") | null;
            supersededById: string | null;
            supersededAt: string | null;
            error: {
                code: string;
                message: string;
                classification: string;
                upstreamStatus: number | null;
            } | null;
            errorClassification: string | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            completedAt: string | null;
        };
        AiReviewPage: {
            data: components["schemas"]["AiReviewRecord"][];
            nextCursor: string | null;
            hasMore: boolean;
        };
        AiReviewDetails: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            caseId: string;
            /** Format: uuid */
            productId: string;
            /** Format: uuid */
            orgId: string;
            /** @description The patient of the case. Null until the review of another service starts. */
            patientId: string | null;
            /** @enum {unknown} */
            status: "pending" | "in_progress" | "awaiting_result" | "completed" | "failed" | "cancelled" | "superseded";
            /** @description Result polls. */
            attemptCount: number;
            correlationId: string | null;
            providerCaseId: number | null;
            providerChecksum: string | null;
            /** @description Of a processed case, also if the review failed. */
            providerVersion: string | null;
            /** @description Additive: the verdict of the provider on a processed case, also if the review failed. */
            analysisResult: string | null;
            /** @description Why the review was cancelled. It stays after the review is superseded. */
            cancelReason: ("requested" | "consent_withdrawn" | "subject_erased") | null;
            supersededById: string | null;
            supersededAt: string | null;
            error: {
                code: string;
                message: string;
                classification: string;
                upstreamStatus: number | null;
            } | null;
            errorClassification: string | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            completedAt: string | null;
            images: {
                /** Format: uuid */
                id: string;
                /** Format: uuid */
                aiReviewId: string;
                /** Format: uuid */
                clinicalImageId: string;
                /** @enum {unknown} */
                imageType: "DERMOSCOPIC" | "MACROSCOPIC";
                providerImageId: number | null;
                providerImageHash: string | null;
                imageQuality: string | null;
                /** Format: date-time */
                createdAt: string;
            }[];
            result: {
                /** Format: uuid */
                id: string;
                /** Format: uuid */
                aiReviewId: string;
                analysisResult: string;
                analysisStatus: string | null;
                lesionCount: number;
                processingType: string | null;
                sensitivitySet: string | null;
                reportDate: string | null;
                /** Format: date-time */
                createdAt: string;
            } | null;
            lesions: {
                /** Format: uuid */
                id: string;
                /** Format: uuid */
                aiReviewId: string;
                lesionNumber: number;
                providerLesionId: number;
                coordinates: {
                    x1: number;
                    y1: number;
                    x2: number;
                    y2: number;
                } | null;
                classification: string | null;
                category: string | null;
                priority: number | null;
                suspectedDiagnosisIcd10Code: string | null;
                suspectedDiagnosisIcd10Term: string | null;
                suspectedDiagnosisSnomedCode: string | null;
                suspectedDiagnosisSnomedTerm: string | null;
                referralFlag: string | null;
                referralRecommendation: string | null;
                referralRecommendationGuidance: string | null;
                interpretationGuidance: string | null;
                /** Format: date-time */
                createdAt: string;
            }[];
        };
        ProvenanceDocument: {
            version: number;
            review: {
                id: string | null;
                product_id: string | null;
                requested_at: string | null;
                /** Format: uuid */
                event_id: string;
            };
            organisation: {
                id: string | null;
                /** Format: uuid */
                event_id: string;
            };
            patient: {
                id: string | null;
                /** Format: uuid */
                event_id: string;
            };
            case: {
                id: string | null;
                opened_at: string | null;
                /** Format: uuid */
                event_id: string;
            };
            assessment: {
                id: string | null;
                requested_at: string | null;
                /** Format: uuid */
                event_id: string;
            } | null;
            /** @description All decisions of the patient on the analysis up to the end of the review, in the order of the log */
            consent_decisions: {
                id: string | null;
                decision: string | null;
                recorded_at: string | null;
                created_at: string | null;
                text_version: {
                    id: string | null;
                    locale: string | null;
                    text_sha256: string | null;
                    event_id: string | null;
                };
                /** Format: uuid */
                event_id: string;
            }[];
            /** @description The checks before the calls `case` and `process`, with the decision that each one found */
            consent_checks: {
                call: string | null;
                attempt_id: string | null;
                checked_at: string | null;
                decision: {
                    id: string | null;
                    decision: string | null;
                    recorded_at: string | null;
                    created_at: string | null;
                    text_version: {
                        id: string | null;
                        locale: string | null;
                        text_sha256: string | null;
                        event_id: string | null;
                    };
                    /** Format: uuid */
                    event_id: string;
                } | null;
                /** Format: uuid */
                event_id: string;
            }[];
            images: {
                id: string | null;
                image_type: string | null;
                capture_type: string | null;
                received: {
                    sha256: string | null;
                    bytes: number | null;
                    /** Format: uuid */
                    event_id: string;
                } | null;
                sent: {
                    sha256: string | null;
                    bytes: number | null;
                    /** Format: uuid */
                    event_id: string;
                    at: string | null;
                    provider_image_id: number | null;
                }[];
            }[];
            provider: {
                name: string | null;
                version: string | null;
                /** Format: uuid */
                event_id: string;
            } | null;
            /** @description The calls of the provider, without logins */
            calls: {
                call: string | null;
                image_id: string | null;
                attempt_id: string | null;
                attempted_at: string | null;
                outcome: {
                    type: string | null;
                    at: string | null;
                    status: number | null;
                    duration_ms: number | null;
                    /** Format: uuid */
                    event_id: string;
                } | null;
                /** Format: uuid */
                event_id: string;
            }[];
            ends: {
                status: string;
                at: string | null;
                error: string | null;
                cancel_reason: string | null;
                superseded_by_id: string | null;
                /** Format: uuid */
                event_id: string;
            }[];
            result: {
                analysis_result: string | null;
                analysis_status: string | null;
                lesion_count: number | null;
                report_date: string | null;
                response_sha256: string | null;
                stored_sha256: string | null;
                stored_bytes: number | null;
                /** Format: uuid */
                event_id: string;
            } | null;
            human_review: {
                task_id: string | null;
                /** @description False if no rule of the policy in force selected the review */
                is_selected: boolean;
                opened_at: string | null;
                opinions: {
                    number: number | null;
                    user_id: string | null;
                    recommendation: string | null;
                    lesions: {
                        lesion_number: number | null;
                        outcome: string | null;
                    }[];
                    given_at: string | null;
                    /** Format: uuid */
                    event_id: string;
                }[];
                decision: {
                    opinion: number | null;
                    user_id: string | null;
                    agrees_with_ai: boolean | null;
                    decided_at: string | null;
                    /** Format: uuid */
                    event_id: string;
                } | null;
                cancelled: {
                    reason: string | null;
                    cancelled_at: string | null;
                    /** Format: uuid */
                    event_id: string;
                } | null;
                /** Format: uuid */
                event_id: string;
            } | null;
        };
        ProvenanceReply: {
            document: components["schemas"]["ProvenanceDocument"];
            /** @description Compact JWS of the RFC 8785 form of `document`; its keys are in /v1/auth/.well-known/jwks.json */
            jws: string;
            proofs: {
                /** Format: uuid */
                event_id: string;
                /** @description C2SP tlog-proof */
                proof: string;
                /**
                 * Format: byte
                 * @description The stored bytes of the event. Personal members are encrypted in them
                 */
                data: string;
            }[];
        };
        HumanReviewTaskRecord: {
            /** Format: uuid */
            id: string;
            /** @enum {unknown} */
            status: "open" | "claimed" | "decided" | "cancelled";
            /** Format: uuid */
            ai_review_id: string;
            /** Format: uuid */
            case_id: string;
            /** Format: uuid */
            patient_id: string;
            /** Format: uuid */
            product_id: string;
            assessment_id: string | null;
            selected_by: ("always" | "categories" | "priority_at_most" | "referral_flags" | "image_qualities" | "share")[];
            opinions_required: number;
            /** @description Until the decision only the actor's own */
            opinions: {
                number: number;
                /** Format: uuid */
                user_id: string;
                lesions: {
                    lesion_number: number;
                    /** @enum {unknown} */
                    outcome: "confirm" | "correct" | "reject";
                    icd10: {
                        code: string | null;
                        term: string | null;
                    } | null;
                    snomed: {
                        code: string | null;
                        term: string | null;
                    } | null;
                    category: string | null;
                }[];
                /** @enum {unknown} */
                recommendation: "no_action" | "routine_follow_up" | "refer" | "urgent_referral" | "inconclusive";
                note: string | null;
                /** Format: date-time */
                given_at: string;
            }[];
            claimed_by: string | null;
            lease_until: string | null;
            decision: {
                number: number;
                /** Format: uuid */
                user_id: string;
                lesions: {
                    lesion_number: number;
                    /** @enum {unknown} */
                    outcome: "confirm" | "correct" | "reject";
                    icd10: {
                        code: string | null;
                        term: string | null;
                    } | null;
                    snomed: {
                        code: string | null;
                        term: string | null;
                    } | null;
                    category: string | null;
                }[];
                /** @enum {unknown} */
                recommendation: "no_action" | "routine_follow_up" | "refer" | "urgent_referral" | "inconclusive";
                note: string | null;
                /** Format: date-time */
                given_at: string;
            } | null;
            agrees_with_ai: boolean | null;
            cancel_reason: ("superseded" | "consent_withdrawn" | "subject_erased") | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            decided_at: string | null;
        };
        DecideHumanReviewTaskBody: {
            /** @description Each lesion of the AI review once. `correct` needs `icd10` and `category`, and takes `snomed` */
            lesions: {
                lesion_number: number;
                /** @enum {unknown} */
                outcome: "confirm" | "correct" | "reject";
                icd10?: {
                    /**
                     * Format: visible-text
                     * @description With at least one visible character
                     */
                    code: string;
                    /**
                     * Format: visible-text
                     * @description With at least one visible character
                     */
                    term: string;
                };
                snomed?: {
                    /**
                     * Format: visible-text
                     * @description With at least one visible character
                     */
                    code: string;
                    /**
                     * Format: visible-text
                     * @description With at least one visible character
                     */
                    term: string;
                };
                /**
                 * Format: visible-text
                 * @description With at least one visible character
                 */
                category?: string;
            }[];
            /** @enum {unknown} */
            recommendation: "no_action" | "routine_follow_up" | "refer" | "urgent_referral" | "inconclusive";
            /**
             * Format: visible-text
             * @description With at least one visible character
             */
            note?: string;
        };
        HumanReviewRule: {
            /** @enum {boolean} */
            always?: true;
            categories?: string[];
            priority_at_most?: number;
            referral_flags?: string[];
            image_qualities?: string[];
            /** @description Part of the reviews. No caller can compute which */
            share?: number;
            /** @description Clinicians who give an opinion. Default: 1 */
            opinions?: number;
        };
        SetHumanReviewPolicyBody: {
            rules: components["schemas"]["HumanReviewRule"][];
            /** @description Length of a claim. Default: 1800 */
            lease_seconds?: number;
        };
        HumanReviewPolicyRecord: {
            rules: components["schemas"]["HumanReviewRule"][];
            lease_seconds: number;
            /** @description 0 before the first PUT */
            version: number;
            updated_at: string | null;
            updated_by: string | null;
        };
        HumanReviewAgreement: {
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            to: string;
            /** @description Decided tasks */
            tasks: number;
            /** @description Decided tasks with every lesion confirmed */
            tasks_agreed: number;
            data: {
                provider_version: string | null;
                category: string | null;
                lesions: number;
                confirmed: number;
                corrected: number;
                rejected: number;
                /** @description confirmed / lesions, to 4 decimals */
                agreement: number;
            }[];
        };
        HumanReviewTaskPage: {
            data: components["schemas"]["HumanReviewTaskRecord"][];
            next_cursor: string | null;
            has_more: boolean;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    "health-full": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-full-events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-live-events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-ready-events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-full-audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-live-audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-ready-audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-full-auth": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-live-auth": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-ready-auth": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-full-clinical-api": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-live-clinical-api": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-ready-clinical-api": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-full-orchestrator": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-live-orchestrator": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-ready-orchestrator": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-full-consent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-live-consent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-ready-consent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-full-user-management": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-live-user-management": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-ready-user-management": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-full-notifications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-live-notifications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-ready-notifications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-full-ai-review": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-live-ai-review": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-ready-ai-review": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-full-human-review": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-live-human-review": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    "health-ready-human-review": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text format 0.0.4 of Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    "metrics-events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text format 0.0.4 of Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    "metrics-audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text format 0.0.4 of Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    "metrics-auth": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text format 0.0.4 of Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    "metrics-clinical-api": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text format 0.0.4 of Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    "metrics-orchestrator": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text format 0.0.4 of Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    "metrics-consent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text format 0.0.4 of Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    "metrics-user-management": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text format 0.0.4 of Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    "metrics-notifications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text format 0.0.4 of Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    "metrics-ai-review": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text format 0.0.4 of Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    "metrics-human-review": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text format 0.0.4 of Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    getProblem: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                code: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As JSON; as a page if the caller accepts HTML */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProblemDescription"];
                    "text/html": string;
                };
            };
        };
    };
    readEvents: {
        parameters: {
            query?: {
                /** @description A `next_cursor`, or `now` for the end. Without it: from the oldest event */
                after?: string;
                /** @description More than 1,000 is taken as 1,000. A stream has no limit */
                limit?: number;
                /** @description Event types, separated by commas. A page for them may be empty and have more */
                types?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                channel: "ai-review" | "assessment" | "audit" | "clinical" | "consent" | "human-review" | "notification" | "users" | "webhook" | "workflow";
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, or server-sent events if the caller accepts these alone */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                    "text/event-stream": string;
                };
            };
        };
    };
    readTimeline: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                patient_id?: string;
                case_id?: string;
                assessment_id?: string;
                ai_review_id?: string;
                task_id?: string;
                workflow_instance_id?: string;
                notification_id?: string;
                user_id?: string;
                client_id?: string;
                subscription_id?: string;
                /** @description Events recorded at this instant or later */
                from?: string;
                /** @description Events recorded before this instant */
                to?: string;
                /** @description Event types, separated by commas */
                types?: string;
                order?: "asc" | "desc";
                /** @description Decrypts personal members. Needs the scope `audit:read-phi` */
                with_phi?: boolean;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimelineItemPage"];
                };
            };
        };
    };
    readAsOf: {
        parameters: {
            query: {
                /** @description An instant (RFC 3339), or a position of the log as X-Commit-Position has it */
                at: string;
                /** @description The path of a GET route with its query, such as `/v1/clinical-api/cases/{id}` */
                path: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AsOfReply"];
                };
            };
        };
    };
    listAsOfPaths: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AsOfPaths"];
                };
            };
        };
    };
    readLogCheckpoint: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A signed note of C2SP tlog-checkpoint */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    readLogKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Keys of C2SP signed-note, one a line, the newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    readLogTile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description 0 to 63, or `entries` */
                level: string;
                /** @description Three digits */
                index: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Hashes, or entries with their lengths, as C2SP tlog-tiles has them. A number above 999 and a partial tile have further parts of the path, such as `x001/234.p/56`. Bundles of entries are for platform clients */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
        };
    };
    proveEvent: {
        parameters: {
            query: {
                event_id: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A proof of C2SP tlog-proof. Its line `extra` is the entry of the event. `audit check` verifies it offline */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    proveConsistency: {
        parameters: {
            query: {
                from: number;
                to: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The hashes of RFC 6962 between two sizes of the log, in base64, one a line */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    listAccesses: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                patient_id?: string;
                actor_user_id?: string;
                client_id?: string;
                category?: "record" | "consent" | "images" | "results" | "raw_response" | "answers" | "notes" | "notifications" | "timeline" | "as_of" | "export" | "contact";
                /** @description Accesses at this instant or later */
                from?: string;
                /** @description Accesses before this instant */
                to?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccessRecordPage"];
                };
            };
        };
    };
    requestExport: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RequestExportBody"];
            };
        };
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportRecord"];
                };
            };
        };
    };
    getExport: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportRecord"];
                };
            };
        };
    };
    readOperationsOverview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The overview, or server-sent events if the caller accepts these alone */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationsOverview"];
                    "text/event-stream": string;
                };
            };
        };
    };
    readOperationsHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationsHealth"];
                };
            };
        };
    };
    readSeal: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SealState"];
                };
            };
        };
    };
    listWork: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                kind?: "step" | "delivery" | "notification" | "ai_review";
                process?: string;
                step?: string;
                /** @description One or several with commas */
                state?: string;
                /** @description The id of a failure group */
                failing_with?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkPage"];
                };
            };
        };
    };
    listDeliveryWork: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description One or several with commas */
                state?: string;
                /** @description The id of a failure group */
                failing_with?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkPage"];
                };
            };
        };
    };
    listNotificationWork: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description One or several with commas */
                state?: string;
                /** @description The id of a failure group */
                failing_with?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkPage"];
                };
            };
        };
    };
    readWork: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkDetail"];
                };
            };
        };
    };
    readOperationsSubject: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationsSubject"];
                };
            };
        };
    };
    listFailureGroups: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FailureGroupPage"];
                };
            };
        };
    };
    readFailureGroup: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FailureGroup"];
                };
            };
        };
    };
    listProjections: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectionPage"];
                };
            };
        };
    };
    listRelays: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RelayPage"];
                };
            };
        };
    };
    listEndpoints: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointPage"];
                };
            };
        };
    };
    listOperatorActions: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorActionPage"];
                };
            };
        };
    };
    retryWork: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OperationsRetryBody"];
            };
        };
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationsRetry"];
                };
            };
        };
    };
    retryFailureGroup: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OperationsRetryBody"];
            };
        };
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationsRetry"];
                };
            };
        };
    };
    rebuildProjection: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RebuildProjectionBody"];
            };
        };
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectionOperation"];
                };
            };
        };
    };
    verifyProjection: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ProjectionOperationBody"];
            };
        };
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectionOperation"];
                };
            };
        };
    };
    retryProjection: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ProjectionOperationBody"];
            };
        };
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectionOperation"];
                };
            };
        };
    };
    rollBackProjection: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ProjectionOperationBody"];
            };
        };
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectionOperation"];
                };
            };
        };
    };
    skipProjectionEvent: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SkipProjectionEventBody"];
            };
        };
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectionOperation"];
                };
            };
        };
    };
    introspectToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": components["schemas"]["PresentedTokenBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IntrospectionReply"];
                };
            };
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": components["schemas"]["PresentedTokenBody"];
            };
        };
        responses: {
            /** @description No body */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getAuthorizationServerMetadata: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuthorizationServerMetadata"];
                };
            };
        };
    };
    issueToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": components["schemas"]["TokenBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenReply"];
                };
            };
        };
    };
    getTokenKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JsonWebKeySet"];
                };
            };
        };
    };
    listOauthClients: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OauthClientPage"];
                };
            };
        };
    };
    registerOauthClient: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterClientBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OauthClientRecord"];
                };
            };
        };
    };
    getOauthClient: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OauthClientRecord"];
                };
            };
        };
    };
    deleteOauthClient: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    changeOauthClient: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeClientBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OauthClientRecord"];
                };
            };
        };
    };
    addOauthClientSecret: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AddClientSecretBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OauthClientSecretRecord"];
                };
            };
        };
    };
    removeOauthClientSecret: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
                secretId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listOauthScopes: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                service_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OauthScopePage"];
                };
            };
        };
    };
    registerOauthScopes: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterScopesBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegisterScopesReply"];
                };
            };
        };
    };
    getWellKnownMetadata: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuthorizationServerMetadata"];
                };
            };
        };
    };
    listPatients: {
        parameters: {
            query: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description `scheme|value`. Both are compared in NFC, without surrounding blanks */
                identifier: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PatientPage"];
                };
            };
        };
    };
    registerPatient: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterPatientBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PatientRecord"];
                };
            };
        };
    };
    getPatient: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PatientRecord"];
                };
            };
        };
    };
    correctPatient: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CorrectPatientBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PatientRecord"];
                };
            };
        };
    };
    listCases: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                patient_id?: string;
                status?: "open" | "in_review" | "closed";
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CasePage"];
                };
            };
        };
    };
    openCase: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OpenCaseBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CaseRecord"];
                };
            };
        };
    };
    closeCase: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CaseRecord"];
                };
            };
        };
    };
    erasePatient: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ErasePatientBody"];
            };
        };
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureRecord"];
                };
            };
        };
    };
    approveErasure: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureRecord"];
                };
            };
        };
    };
    cancelErasure: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureRecord"];
                };
            };
        };
    };
    getErasure: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureRecord"];
                };
            };
        };
    };
    getLegalHold: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LegalHoldRecord"];
                };
            };
        };
    };
    placeLegalHold: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LegalHoldBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LegalHoldRecord"];
                };
            };
        };
    };
    releaseLegalHold: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getCase: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CaseRecord"];
                };
            };
        };
    };
    listFindings: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FindingPage"];
                };
            };
        };
    };
    listDiagnoses: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiagnosisPage"];
                };
            };
        };
    };
    listBodySites: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BodySitePage"];
                };
            };
        };
    };
    listImages: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                case_id?: string;
                patient_id?: string;
                assessment_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImagePage"];
                };
            };
        };
    };
    declareImage: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeclareImageBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageRecord"];
                };
            };
        };
    };
    signImageUploadUrl: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadUrlReply"];
                };
            };
        };
    };
    submitImage: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageRecord"];
                };
            };
        };
    };
    getImage: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageRecord"];
                };
            };
        };
    };
    submitAssessment: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssessmentRecord"];
                };
            };
        };
    };
    signUploadUrl: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
                imageId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadUrlReply"];
                };
            };
        };
    };
    getAssessment: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssessmentRecord"];
                };
            };
        };
    };
    listWebhookSubscriptions: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSubscriptionPage"];
                };
            };
        };
    };
    subscribeWebhook: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubscribeWebhookBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSubscriptionRecord"];
                };
            };
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSubscriptionRecord"];
                };
            };
        };
    };
    getWebhookSubscription: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSubscriptionRecord"];
                };
            };
        };
    };
    deleteWebhookSubscription: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    changeWebhookSubscription: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeWebhookSubscriptionBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSubscriptionRecord"];
                };
            };
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateWebhookSecretBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSubscriptionRecord"];
                };
            };
        };
    };
    getWebhookKeys: {
        parameters: {
            query?: {
                kid?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookKeySet"];
                };
            };
        };
    };
    testWebhookSubscription: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description `id` is the webhook-id of every attempt. `created_at` is the time of the event */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryRecord"];
                };
            };
        };
    };
    redeliverWebhook: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
                deliveryId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description `id` is the webhook-id of every attempt. `created_at` is the time of the event */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryRecord"];
                };
            };
        };
    };
    recoverWebhooks: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecoverWebhooksBody"];
            };
        };
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoverWebhooksReply"];
                };
            };
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                status?: "pending" | "delivered" | "failed" | "cancelled";
                event_type?: "assessment.completed" | "assessment.failed" | "assessment.reviewed" | "webhook.test";
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryPage"];
                };
            };
        };
    };
    getWebhookDelivery: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
                deliveryId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description `id` is the webhook-id of every attempt. `created_at` is the time of the event */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryRecord"];
                };
            };
        };
    };
    createAssessment: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateAssessmentBody"];
            };
        };
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssessmentRecord"];
                };
            };
        };
    };
    listWorkflowInstances: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                case_id?: string;
                state?: "running" | "parked" | "completed" | "failed" | "cancelled";
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowInstancePage"];
                };
            };
        };
    };
    startWorkflowInstance: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartWorkflowInstanceBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowInstanceRecord"];
                };
            };
        };
    };
    cancelWorkflowInstance: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowInstanceRecord"];
                };
            };
        };
    };
    advanceWorkflowInstance: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AdvanceWorkflowInstanceBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowInstanceRecord"];
                };
            };
        };
    };
    listWorkflowDefinitions: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowDefinitionPage"];
                };
            };
        };
    };
    publishWorkflowDefinition: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PublishDefinitionBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowDefinitionRecord"];
                };
            };
        };
    };
    getWorkflowDefinition: {
        parameters: {
            query?: {
                version?: number;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowDefinitionRecord"];
                };
            };
        };
    };
    getWorkflowInstance: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowInstanceRecord"];
                };
            };
        };
    };
    listConsentTypes: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentTypePage"];
                };
            };
        };
    };
    createConsentType: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none, unless the body names it. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none, unless the body names it. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateConsentTypeBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentTypeRecord"];
                };
            };
        };
    };
    getConsentType: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentTypeDetails"];
                };
            };
        };
    };
    deleteConsentType: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateConsentType: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateConsentTypeBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentTypeRecord"];
                };
            };
        };
    };
    listConsentTextVersions: {
        parameters: {
            query?: {
                /** @description At most 50; more is taken as 50. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                typeId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentTextVersionPage"];
                };
            };
        };
    };
    publishConsentTextVersion: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                typeId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PublishTextVersionBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentTextVersionRecord"];
                };
            };
        };
    };
    listConsents: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description Answers as of this instant, which must not be in the future */
                as_of?: string;
                /** @description The organisation. Always needed; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Always needed; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                patientId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PatientConsentsReply"];
                };
            };
        };
    };
    recordConsentDecision: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                patientId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecordConsentBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentDecisionRecord"];
                };
            };
        };
    };
    getConsentStatus: {
        parameters: {
            query?: {
                /** @description Answers as of this instant, which must not be in the future */
                as_of?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                patientId: string;
                typeCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentStatusReply"];
                };
            };
        };
    };
    checkConsents: {
        parameters: {
            query: {
                /** @description Answers as of this instant, which must not be in the future */
                as_of?: string;
                /** @description Type codes, separated by commas, at most 50 */
                types: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                patientId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentCheckReply"];
                };
            };
        };
    };
    listConsentHistory: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description Code of a consent type */
                type?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                patientId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentHistoryPage"];
                };
            };
        };
    };
    getConsentDecision: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                patientId: string;
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentDecisionRecord"];
                };
            };
        };
    };
    getConsentReceipt: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                patientId: string;
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentReceiptReply"];
                };
            };
        };
    };
    getConsentRecords: {
        parameters: {
            query: {
                patientId: string;
                consentTypeCode: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentRecordsReply"];
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                organisationId?: string;
                org?: string;
                userType?: "clinician" | "admin" | "patient";
                type?: "clinician" | "admin" | "patient";
                status?: "active" | "suspended" | "deactivated";
                roleId?: string;
                role?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserPage"];
                };
            };
        };
    };
    createUser: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateUserBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserDetailRecord"];
                };
            };
        };
    };
    getUser: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserDetailRecord"];
                };
            };
        };
    };
    deactivateUser: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserRecord"];
                };
            };
        };
    };
    changeUser: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeUserBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserRecord"];
                };
            };
        };
    };
    eraseUser: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasedUserReply"];
                };
            };
        };
    };
    resetPassword: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasswordResetReply"];
                };
            };
        };
    };
    getOwnUser: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnUserRecord"];
                };
            };
        };
    };
    changeMe: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeMeBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserDetailRecord"];
                };
            };
        };
    };
    addMembership: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddMembershipBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MembershipRecord"];
                };
            };
        };
    };
    removeMembership: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
                membershipId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    changeMembership: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
                membershipId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeMembershipBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MembershipRecord"];
                };
            };
        };
    };
    grantProductAccess: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
                membershipId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GrantProductBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProductAccessRecord"];
                };
            };
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProductAccessRecord"];
                };
            };
        };
    };
    revokeProductAccess: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
                membershipId: string;
                productId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listRoles: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                organisationId?: string;
                org?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RolePage"];
                };
            };
        };
    };
    createRole: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateRoleBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoleRecord"];
                };
            };
        };
    };
    getRole: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoleRecord"];
                };
            };
        };
    };
    deleteRole: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    changeRole: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeRoleBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoleRecord"];
                };
            };
        };
    };
    registerPermissions: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterPermissionsBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegisterPermissionsReply"];
                };
            };
        };
    };
    getActorContext: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActorContextRecord"];
                };
            };
        };
    };
    listOwnAccesses: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnAccessRecordPage"];
                };
            };
        };
    };
    getUserByExternalId: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                externalId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserDetailRecord"];
                };
            };
        };
    };
    getUserContact: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserContactRecord"];
                };
            };
        };
    };
    getPatientContact: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                patientId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserContactRecord"];
                };
            };
        };
    };
    listPermissions: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                service_id?: string;
                serviceId?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PermissionPage"];
                };
            };
        };
    };
    listNotifications: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The full address, user id or chat channel. The link to the next page does not contain it: add it again */
                recipientRef?: string;
                status?: "pending" | "queued" | "sending" | "sent" | "failed" | "suppressed";
                from?: string;
                to?: string;
                /** @description The organisation. With a token that has none, leaving it out means the records of no organisation. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token that has none, leaving it out means the records of no organisation. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationPage"];
                };
            };
        };
    };
    sendNotification: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none, unless the body names it. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none, unless the body names it. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SendNotificationBody"];
            };
        };
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationAccepted"];
                };
            };
        };
    };
    retryFailedNotification: {
        parameters: {
            query?: {
                /** @description The organisation. With a token that has none, leaving it out means the records of no organisation. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token that has none, leaving it out means the records of no organisation. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationAccepted"];
                };
            };
        };
    };
    retryFailedNotifications: {
        parameters: {
            query?: {
                /** @description The organisation. With a token that has none, leaving it out means the records of no organisation. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token that has none, leaving it out means the records of no organisation. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RetryFailedNotificationsBody"];
            };
        };
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetryFailedNotificationsReply"];
                };
            };
        };
    };
    reEnqueueStuckNotifications: {
        parameters: {
            query?: {
                /** @description The organisation. With a token that has none, leaving it out means the records of no organisation. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token that has none, leaving it out means the records of no organisation. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReEnqueueStuckNotificationsBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReEnqueueStuckNotificationsReply"];
                };
            };
        };
    };
    getNotification: {
        parameters: {
            query?: {
                /** @description The organisation. With a token that has none, leaving it out means the records of no organisation. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token that has none, leaving it out means the records of no organisation. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationWithAttempts"];
                };
            };
        };
    };
    listFailedNotifications: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. With a token that has none, leaving it out means the records of no organisation. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token that has none, leaving it out means the records of no organisation. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationFailurePage"];
                };
            };
        };
    };
    listEventInbox: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                eventId?: string;
                /** @description The organisation. With a token that has none, leaving it out means the records of no organisation. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token that has none, leaving it out means the records of no organisation. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventInboxPage"];
                };
            };
        };
    };
    previewNotificationTemplate: {
        parameters: {
            query?: {
                channel?: "email" | "slack";
                /** @description BCP 47; default en-GB */
                locale?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                code: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RenderPreviewBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RenderPreviewReply"];
                };
            };
        };
    };
    getNotificationTemplate: {
        parameters: {
            query?: {
                channel?: "email" | "slack";
                locale?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                code: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationTemplateDetails"];
                };
            };
        };
    };
    putNotificationTemplate: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none, unless the body names it. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none, unless the body names it. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                code: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutTemplateBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SavedNotificationTemplate"];
                };
            };
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SavedNotificationTemplate"];
                };
            };
        };
    };
    listNotificationTemplates: {
        parameters: {
            query?: {
                /** @description At most 50; more is taken as 50. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                channel?: "email" | "slack";
                category?: "transactional" | "clinical" | "marketing" | "operational";
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationTemplatePage"];
                };
            };
        };
    };
    listNotificationSubscriptions: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
                eventType?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationSubscriptionPage"];
                };
            };
        };
    };
    createNotificationSubscription: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none, unless the body names it. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none, unless the body names it. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateNotificationSubscriptionBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationSubscriptionRecord"];
                };
            };
        };
    };
    getNotificationSubscription: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationSubscriptionRecord"];
                };
            };
        };
    };
    deleteNotificationSubscription: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    changeNotificationSubscription: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeNotificationSubscriptionBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationSubscriptionRecord"];
                };
            };
        };
    };
    listSuppressions: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SuppressionPage"];
                };
            };
        };
    };
    addSuppression: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none, unless the body names it. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none, unless the body names it. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddSuppressionBody"];
            };
        };
        responses: {
            /** @description Default Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SuppressionRecord"];
                };
            };
        };
    };
    getSuppression: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SuppressionRecord"];
                };
            };
        };
    };
    removeSuppression: {
        parameters: {
            query?: {
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. With a token or an administrator secret that has none, it may be left out. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getNotificationPreferences: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationPreferences"];
                };
            };
        };
    };
    setNotificationPreferences: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetNotificationPreferencesBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationPreferences"];
                };
            };
        };
    };
    askToUnsubscribe: {
        parameters: {
            query: {
                token: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    unsubscribe: {
        parameters: {
            query: {
                token: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    listAiReviews: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                caseId?: string;
                productId?: string;
                status?: "pending" | "in_progress" | "awaiting_result" | "completed" | "failed" | "cancelled" | "superseded";
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AiReviewPage"];
                };
            };
        };
    };
    createAiReview: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateAiReviewBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateAiReviewReply"];
                };
            };
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateAiReviewReply"];
                };
            };
        };
    };
    cancelAiReview: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CancelAiReviewReply"];
                };
            };
        };
    };
    supersedeAiReview: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SupersedeAiReviewBody"];
            };
        };
        responses: {
            /** @description Default Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SupersedeAiReviewReply"];
                };
            };
        };
    };
    getRawAiReview: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer of the provider, unchanged */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderResponse"];
                };
            };
        };
    };
    getAiReview: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AiReviewDetails"];
                };
            };
        };
    };
    getAiReviewProvenance: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProvenanceReply"];
                };
            };
        };
    };
    claimHumanReviewTask: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanReviewTaskRecord"];
                };
            };
        };
    };
    releaseHumanReviewTask: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanReviewTaskRecord"];
                };
            };
        };
    };
    decideHumanReviewTask: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecideHumanReviewTaskBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanReviewTaskRecord"];
                };
            };
        };
    };
    getHumanReviewPolicy: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanReviewPolicyRecord"];
                };
            };
        };
    };
    setHumanReviewPolicy: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetHumanReviewPolicyBody"];
            };
        };
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanReviewPolicyRecord"];
                };
            };
        };
    };
    getHumanReviewAgreement: {
        parameters: {
            query?: {
                from?: string;
                to?: string;
                provider_version?: string;
                category?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanReviewAgreement"];
                };
            };
        };
    };
    getHumanReviewTask: {
        parameters: {
            query?: {
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanReviewTaskRecord"];
                };
            };
        };
    };
    listHumanReviewTasks: {
        parameters: {
            query?: {
                /** @description At most 200; more is taken as 200. A page of large items ends earlier, at 2 MiB */
                limit?: number;
                cursor?: string;
                status?: "open" | "claimed" | "decided" | "cancelled";
                product_id?: string;
                case_id?: string;
                assessment_id?: string;
                claimed_by?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                org_id?: string;
                /** @description The organisation. Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`. `org_id` is also `orgId`. */
                orgId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Default Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanReviewTaskPage"];
                };
            };
        };
    };
}
